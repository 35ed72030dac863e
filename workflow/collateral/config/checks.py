"""Checks of a benchmark beyond the schema: names must exist, and keys must fit together."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from collateral.config import cells
from collateral.config.errors import ConfigError, Place, Problem, find_errors
from collateral.config.methods import MethodSpec, method_errors, resolve
from collateral.config.schema import ALL, LEAST_SHADOWS, BenchmarkConfig, CellConfig, SweepConfig
from collateral.config.weights import CELL, NONE, SEED
from collateral.contract.conventions import OF_MODEL, PAPER, TEACHER, class_index
from collateral.contract.data import DataOptions
from collateral.contract.messages import did_you_mean, quoted, unknown_name
from collateral.contract.params import TrainingParams
from collateral.data._metadata import find_class_names
from collateral.plugins.find import CONTROL, DATA, FINDING, FORGET, METHOD, MODEL, params_class
from collateral.results.layout import ORIGINAL, RESERVED

LEAST_JUDGED = 2  # minimum number of judged seeds, because one has no interval
# Name of the module, in the folder of a finding, that contains published numbers of Retrain.
RETRAIN_PART = "retrain"
LEAST_EMITTERS = 3  # minimum number of classes or groups of an atlas


def benchmark_errors(name: str, benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Yield the errors of a benchmark, with their positions in the config."""
    top = ("benchmarks", name)
    yield from _name_errors(top)
    for check in CHECKS:
        for place, text in check(benchmark):
            yield (*top, *place), text


def _name_errors(where: Place) -> Iterator[Problem]:
    """Check that the last key of a config path can be the name of a folder."""
    name = str(where[-1])
    if not cells.is_slug(name) or name in RESERVED:
        allowed = f"use a-z, 0-9, _, and from the second letter . and -, at most {cells.LONGEST}"
        taken = f"taken are {', '.join(sorted(RESERVED))}"
        yield where, f"not usable as a folder's name; {allowed}; {taken}"


def _missing_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Yield one error if nothing is unlearned, and one if nothing is forgotten."""
    if not benchmark.methods and not benchmark.given:
        yield (), "nothing to judge: list `methods`, or weights under `given`"
    if bool(benchmark.classes) != bool(benchmark.fractions):
        yield (), "`classes` and `fractions` go together: both, or neither"
    elif not (benchmark.classes or benchmark.cells or benchmark.atlas):
        yield (), "nothing to forget: give `classes` and `fractions`, or `cells`, or `atlas`"


def _effect_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Report keys that have no effect, because something that they need is not in the config."""
    base, retrain = benchmark.base, benchmark.retrain
    entries = [benchmark.methods, *(cell.methods for cell in benchmark.cells.values())]
    values = [value for methods in entries for raw in methods.values() for value in raw.values()]
    is_tuned = any(isinstance(value, list) and len(value) > 1 for value in values)
    is_sgd, has_validation = base.optimizer == "sgd", base.checkpoint == "best_validation"
    has_weights = retrain is not None and retrain.weights is not None
    reference = f"printed: {benchmark.printed}" if benchmark.printed else f"retrain: {NONE}"
    # Keys, whether they have an effect, what they need, and what the config says instead.
    rows: list[tuple[Place, bool, str, str]] = [
        (("base", "momentum"), is_sgd or not base.momentum, "`optimizer: sgd`", base.optimizer),
        (("base", "nesterov"), is_sgd or not base.nesterov, "`optimizer: sgd`", base.optimizer),
        (
            ("base", "nesterov"),
            not (is_sgd and base.nesterov) or base.momentum > 0,
            "a momentum above 0",
            "momentum: 0",
        ),
        (
            ("base", "validation_share"),
            has_validation,
            "`checkpoint: best_validation`",
            base.checkpoint,
        ),
        (("base", "milestones"), base.schedule == "step", "`schedule: step`", base.schedule),
        (("base", "factor"), base.schedule == "step", "`schedule: step`", base.schedule),
        (("base", "rename"), base.weights is not None or not base.rename, "`weights`", ""),
        (("retrain", "rename"), has_weights, "`weights`", ""),
        (("retrain", "rte"), has_weights, "`weights`", ""),
        (("positive",), bool(benchmark.groups), "`groups` to compare", ""),
        (("probe", "patch"), bool(benchmark.data.get("patched")), "`data.patched`", ""),
        (("margin",), benchmark.has_retrain, "Retrain", reference),
        (("looks",), benchmark.has_retrain, "Retrain", reference),
        (("order",), bool(benchmark.classes or benchmark.atlas), "`classes` or `atlas`", ""),
        (("select",), is_tuned or benchmark.select == PAPER, "a method with a list of values", ""),
    ]
    for place, has_effect, needed, found in rows:
        *above, key = map(str, place)
        model = getattr(benchmark, above[0]) if above else benchmark
        is_given = model is not None and key in model.model_fields_set
        if is_given and getattr(model, key) is not None and not has_effect:
            says = f", and the config says {found}" if found else ""
            yield place, f"without effect: it needs {needed}{says}; leave it out"


def _weights_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Report weight files that several cells or seeds share: one model would count repeatedly."""
    if benchmark.init is not None and SEED in (start := str(benchmark.init.weights)):
        yield ("init", "weights"), f"{quoted(start)}: one file for all seeds, so without {SEED}"
    by_cell: dict[Place, Path] = {
        ("given", name, "weights"): one.weights for name, one in benchmark.given.items()
    }
    # If all seeds share one base model, one file of unlearned weights may serve all seeds.
    by_seed = {} if benchmark.base.sharing == "shared" else dict(by_cell)
    if benchmark.retrain is not None and benchmark.retrain.weights is not None:
        by_cell["retrain", "weights"] = by_seed["retrain", "weights"] = benchmark.retrain.weights
    for wildcard, what, files, count in (
        (CELL, "forget sets", by_cell, len(cells.list_cells(benchmark))),
        (SEED, "seeds", by_seed, len(benchmark.seeds)),
    ):
        for place, file in files.items():
            if count > 1 and wildcard not in str(file):
                text = f"one file for {count} {what}; put {wildcard} into its name"
                yield place, f"{quoted(str(file))}: {text}"


def _data_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check the data set and its options, and the classes under `classes` and `positive`."""
    name: Any = benchmark.data.get("name")
    if not DATA.has(name):
        yield ("data", "name"), DATA.no_such(name)
        return
    options = DATA.load(name).Options
    if problems := find_errors(options, benchmark.data_options, ("data",)):
        yield from problems
        return
    chosen = options.model_validate(benchmark.data_options)
    if chosen.mean == OF_MODEL and not benchmark.model.startswith((*MODEL.families,)):
        has = f"{quoted(benchmark.model)} has no normalisation of its own, as models of timm have"
        yield ("data", "mean"), f"{has}; give numbers, or leave it out"
    if text := _error(find_class_names, name, chosen):
        yield ("data", "classes"), text
    classes = cells.known_classes(benchmark)
    for place, label in _class_labels(benchmark, chosen):
        if classes is not None and (text := _error(class_index, label, classes)):
            yield place, text


def _class_labels(benchmark: BenchmarkConfig, chosen: DataOptions) -> Iterator[tuple[Place, Any]]:
    """Yield every class that the config names, except in forget sets, with its place."""
    for i, label in enumerate(benchmark.classes):
        yield ("classes", i), label
    if benchmark.positive is not None:
        yield ("positive",), benchmark.positive
    if chosen.patched is not None:
        yield ("data", "patched", "label"), chosen.patched.label
    if chosen.mislabelled is not None:
        for i, label in enumerate(chosen.mislabelled.classes):
            yield ("data", "mislabelled", "classes", i), label


def _error(function: Callable[..., Any], *arguments: Any) -> str:
    """Return the text of the ValueError that a function raises; empty if it raises none."""
    try:
        function(*arguments)
    except ValueError as error:
        return str(error)
    return ""


def _method_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check the model, the methods with their parameters, and the names of given weights."""
    if not MODEL.has(benchmark.model):
        yield ("model",), MODEL.no_such(benchmark.model)
    for name, raw in benchmark.methods.items():
        yield from _name_errors(("methods", name))
        yield from method_errors(name, raw, ("methods", name))
    for name in benchmark.given:
        yield from _name_errors(("given", name))
        if name in (*benchmark.methods, *CONTROL.names()):
            yield ("given", name), "a method or control has this name; choose another"


def _control_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check the names of controls and of tracked methods."""
    for index, name in enumerate(benchmark.controls):
        if error := _control_error(benchmark, name):
            yield ("controls", index), error
    for index, name in enumerate(benchmark.track if benchmark.track != ALL else ()):
        if name not in (ALL, *benchmark.methods):
            yield ("track", index), unknown_name("method", name, benchmark.methods)


def _control_error(benchmark: BenchmarkConfig, name: str) -> str:
    """Return why a control cannot run, such as an unknown name or no Retrain; empty if it can."""
    if name in METHOD.names():
        return f"'{name}' is a method; list it under `methods:`"
    if name not in CONTROL.names():
        return unknown_name("control", name, CONTROL.names())
    if not benchmark.has_retrain and params_class(name).needs_retrain:
        return f"'{name}' needs Retrain, which the config does not have"
    if key := params_class(name).made_by:
        return f"'{name}' is made by the key `{key}`; leave it out here"
    parent = params_class(name).inherits
    users = [key for key, raw in benchmark.methods.items() if raw.get("uses", key) == parent]
    if parent and parent not in users and len(users) != 1:
        found = f"{len(users)} of them are under `methods:`"
        return f"'{name}' takes its parameters from {parent}; {found}"
    return ""


def _retrain_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """If the config has no Retrain, report keys that need it, and missing published numbers."""
    for key in ("probe", "sweeps", "support_size", "groups"):
        if getattr(benchmark, key) and not benchmark.has_retrain:
            text = f"needs Retrain, and `retrain` is {NONE} or `printed`; leave one of them out"
            yield (key,), text
    if not (name := benchmark.printed):
        return
    where = ("retrain", "printed")
    sources = [module.split(".")[-2] for module in FINDING.parts(RETRAIN_PART)]
    if name not in sources:
        yield where, unknown_name("printed numbers", name, sources)
        return
    source = FINDING.load(name, RETRAIN_PART)
    for cell, forget in cells.list_cells(benchmark).items():
        if not source.has_retrain(benchmark.data, benchmark.model, forget.params):
            first = "of the first share of a class (`order: first`)"
            has = f"it has them {first} for {source.SETTINGS}; or say `retrain: {NONE}`"
            yield where, f"{quoted(name)}: no numbers of Retrain for {cell}; {has}"
    yield from _recipe_errors(benchmark, source.recipe(benchmark.data.get("name")))


def _recipe_errors(benchmark: BenchmarkConfig, recipe: Mapping[str, Any]) -> Iterator[Problem]:
    """Check that a base model is trained as the Retrain whose means are printed was trained."""
    base = benchmark.base
    if base.weights is not None:
        return  # how the user's model was trained is not known
    remedy = f"train alike, give the base's published weights, or say `retrain: {NONE}`"
    if benchmark.init is not None:
        yield ("init",), f"the printed Retrain was trained from random weights; {remedy}"
    for key, value in recipe.items():
        if (own := getattr(base, key)) != value:
            yield ("base", key), f"{own}: the printed Retrain was trained with {value}; {remedy}"


def _shadow_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check that shadow models can be trained like the base model, and that they are used."""
    if benchmark.shadows is None:
        return
    base, kinds = benchmark.base, [forget.kind for forget in cells.list_cells(benchmark).values()]
    is_used = benchmark.shadows.attack or any(map(_needs_shadows, kinds))
    rows = [
        (
            base.checkpoint == "best_validation",
            "`base.checkpoint: best_validation` holds out examples that would count as seen; leave "
            "one of them out",
        ),
        (
            base.weights is not None and "epochs" not in base.model_fields_set,
            "trained as the base is, and beside `base.weights` is no recipe; give `base.epochs` at "
            "least",
        ),
        (
            "corrupted" in kinds,
            "not with a forget set of kind `corrupted`: corrupted examples that are not known are "
            "in the shadow models; leave one of them out",
        ),
        (bool(cells.streams(benchmark)), "not with `rounds` under `cells`; leave one of them out"),
        (not benchmark.methods, "no method would unlearn from them; list `methods`"),
        (not is_used, "`attack` is false, and no forget set is of kind `memorised`; leave it out"),
    ]
    yield from ((("shadows",), text) for is_wrong, text in rows if is_wrong)


def _needs_shadows(kind: Any) -> bool:
    """Tell whether shadow models are needed to choose forget sets of this kind."""
    return FORGET.has(kind) and getattr(FORGET.load(kind), "NEEDS", "") == "shadows"


def _trust_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check that known models can be made and compared, and that their recipes are valid."""
    if (trust := benchmark.trust) is None:
        return
    judged = len(benchmark.seeds) - trust.references
    rows = [
        (not benchmark.has_retrain, f"needs Retrain, and `retrain` is {NONE} or `printed`"),
        (
            judged < LEAST_JUDGED,
            f"`references` takes {trust.references} of {len(benchmark.seeds)} seeds; at least "
            f"{LEAST_JUDGED} others are judged",
        ),
        (ORIGINAL not in benchmark.controls, f"needs `controls: [{ORIGINAL}]`"),
        (benchmark.base.sharing == "shared", "needs a base per seed; `base.sharing` is shared"),
        (benchmark.base.weights is not None, "needs bases that are trained here"),
        (benchmark.init is not None, "needs models with random initial weights, without `init`"),
        (bool(benchmark.freeze), "needs models that are trained whole, without `freeze`"),
        (bool(cells.streams(benchmark)), "not with `rounds` under `cells`"),
    ]
    yield from ((("trust",), text) for is_wrong, text in rows if is_wrong)
    known = list(cells.list_cells(benchmark))
    for name in trust.damage:
        if name not in known:
            yield ("trust", "damage", name), unknown_name("cell", name, known)
    training = benchmark.base.model_dump(include=set(TrainingParams.model_fields))
    for name, values in trust.recipes.items():
        where = ("trust", "recipes", name)
        yield from _name_errors(where)
        yield from find_errors(TrainingParams, {**training, **values}, where)


def _atlas_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check that the classes or groups of the atlas are known, are several, and have own names."""
    if (atlas := benchmark.atlas) is None or not DATA.has(benchmark.data.get("name")):
        return
    by_class = atlas.each == cells.CLASS
    if not by_class and atlas.fractions != (1.0,):
        yield ("atlas", "fractions"), "of classes alone: a group is forgotten whole; leave it out"
    classes = cells.known_classes(benchmark) if by_class else None
    for index, label in enumerate(atlas.only if classes else ()):
        if error := _error(class_index, label, classes):
            yield ("atlas", "only", index), error
            return
    emitters = cells.list_emitters(benchmark)
    if not emitters:
        what = "the classes are" if by_class else f"values of a column {quoted(atlas.each)} are"
        yield ("atlas",), f"{what} not known before the data are read; list them under `only`"
    elif len(emitters) < LEAST_EMITTERS:
        text = f"{len(emitters)} of them; an atlas needs {LEAST_EMITTERS} at least"
        yield ("atlas", "only" if atlas.only else "each"), text
    if len(cells.atlas_cells(benchmark)) < len(emitters) * len(atlas.fractions):
        yield ("atlas",), "two classes, groups or shares make one cell's name"


def _cell_name_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check that all cells have distinct names that can be names of folders."""
    of_classes, of_atlas = cells.class_cells(benchmark), cells.atlas_cells(benchmark)
    if len(of_classes) < len(benchmark.classes) * len(benchmark.fractions):
        yield ("classes",), "two of them, or two fractions, make one cell's name"
    for name in benchmark.cells:
        yield from _name_errors(("cells", name))
        if name in of_classes:
            yield ("cells", name), "`classes` and `fractions` make a cell of this name already"
        elif name in of_atlas:
            yield ("cells", name), "`atlas` makes a cell of this name already"
        for one in cells.round_names(benchmark, name):
            if one in (*benchmark.cells, *of_classes, *of_atlas) or not cells.is_slug(one):
                why = f"which is a name of another cell, or has more than {cells.LONGEST} letters"
                yield ("cells", name), f"its rounds make a cell {quoted(one)}, {why}"


def _cell_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check the forget sets of cells, and the method parameters that differ in a cell."""
    for name, cell in benchmark.cells.items():
        for forget, place in zip(cell.requests, cell.places, strict=True):
            yield from _forget_errors(benchmark, forget, ("cells", name, *place))
        yield from _repeated_errors(cell, ("cells", name))
        for method, raw in cell.methods.items():
            where = ("cells", name, "methods", method)
            if method not in benchmark.methods:
                yield where, f"not under `methods:`{did_you_mean(method, benchmark.methods)}"
                continue
            yield from method_errors(method, {**benchmark.methods[method], **raw}, where)


def _repeated_errors(cell: CellConfig, where: Place) -> Iterator[Problem]:
    """Report a round whose request is the same as an earlier one, so that nothing in it is new."""
    for index, (forget, place) in enumerate(zip(cell.requests, cell.places, strict=True)):
        # A kind that ranks examples selects other ones in every round.
        kind: Any = forget.get("kind")
        is_fixed = FORGET.has(kind) and not hasattr(FORGET.load(kind), "NEEDS")
        if is_fixed and forget in cell.requests[:index]:
            earlier = cell.requests.index(forget)
            text = f"the same request as rounds[{earlier}], so nothing in it is new; leave it out"
            yield (*where, *place), text


def _forget_errors(
    benchmark: BenchmarkConfig, forget: Mapping[str, Any], where: Place
) -> Iterator[Problem]:
    """Check the parameters of a forget set, its classes, and the shadow models that it needs."""
    kind: Any = forget.get("kind")
    if not FORGET.has(kind):
        yield (*where, "kind"), FORGET.no_such(kind)
        return
    module, classes = FORGET.load(kind), cells.known_classes(benchmark)
    given = {key: value for key, value in forget.items() if key != "kind"}
    problems = find_errors(module.Params, given, where)
    yield from problems
    if not problems and classes is not None and hasattr(module, "find_classes"):
        params = module.Params.model_validate(given)
        if error := _error(module.find_classes, params, classes):
            key, _, text = error.partition(": ")
            yield (*where, key), text
    # Half of the shadow models choose the forget set, and half serve the attack.
    count, least = benchmark.shadows.count if benchmark.shadows else 0, 4 * LEAST_SHADOWS
    if _needs_shadows(kind) and count < least:
        yield where, f"needs {least} shadow models at least; `shadows.count` is {count}"


def _sweep_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check the names, methods, cells and values of sweeps."""
    for name, sweep in benchmark.sweeps.items():
        where = ("sweeps", name)
        yield from _name_errors(where)
        yield from _listed_cell_errors(benchmark, sweep.cells, where)
        if sweep.method not in benchmark.methods:
            yield (*where, "method"), unknown_name("method", sweep.method, benchmark.methods)
            continue
        # A value of the sweep may be incompatible with parameters that are set for one cell only.
        listed = sweep.cells or benchmark.cells
        own = [cell.methods for name, cell in benchmark.cells.items() if name in listed]
        problems: dict[Problem, None] = {}
        for raw in [{}, *(methods.get(sweep.method, {}) for methods in own)]:
            try:
                spec = resolve(sweep.method, {**benchmark.methods[sweep.method], **raw}, where)
            except ConfigError:
                continue  # invalid parameters of the method itself are reported by another check
            problems |= dict.fromkeys(_vary_errors(spec, sweep, where))
        yield from problems


def _vary_errors(spec: MethodSpec, sweep: SweepConfig, where: Place) -> Iterator[Problem]:
    """Check that every value of a sweep is valid and gives its run a distinct name."""
    params, (key,) = params_class(spec.uses), sweep.vary
    named: dict[str, Any] = {}
    for given in sweep.combinations():
        # Tuning may choose any trial, so all trials are checked; an error is reported once.
        tried = [{**spec.fixed, **trial, **given} for trial in spec.trials()]
        found = dict.fromkeys(one for values in tried for one in find_errors(params, values, ()))
        for place, text in found:
            part = "along" if place and place[0] in sweep.along else "vary"
            yield (*where, part, *place), text
        if not given.keys() <= params.model_fields.keys():
            return  # if a parameter does not exist, one message is enough for all its values
        if found:
            continue
        exact = {name: spec.values(given)[name] for name in given}
        for name, value in exact.items():
            if not cells.is_slug((text := cells.format_value(value)).lstrip("-")):
                part = "vary" if name == key else "along"
                yield (*where, part, name), f"{value!r}: not usable in a file's name as '{text}'"
        run = "@".join(cells.format_varied(exact))
        if run in named:
            yield (*where, "vary", key), f"{named[run]!r} and {given[key]!r} make one run's name"
        named[run] = given[key]


def _support_size_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check the method and the cells of `support_size:`."""
    if (given := benchmark.support_size) is None:
        return
    yield from _listed_cell_errors(benchmark, given.cells, ("support_size",))
    where = ("support_size", "method")
    if given.method not in benchmark.methods:
        yield where, unknown_name("method", given.method, benchmark.methods)
    elif (uses := benchmark.methods[given.method].get("uses", given.method)) != TEACHER:
        yield where, f"'{given.method}' is {uses}, which has no teacher; only {TEACHER} has"


def _listed_cell_errors(
    benchmark: BenchmarkConfig, listed: list[str] | None, where: Place
) -> Iterator[Problem]:
    """Check the cell names that a sweep, or `support_size`, lists under its key `cells`."""
    known, rounds = cells.list_cells(benchmark), cells.streams(benchmark)
    if listed is None and rounds:
        yield where, f"not in a cell with `rounds`, as {rounds[0]}; list other cells under `cells`"
    for index, cell in enumerate(listed or ()):
        if cell in rounds or (cell in known and known[cell].entry in rounds):
            yield (*where, "cells", index), f"{quoted(cell)}: not in a cell with `rounds`"
        elif cell not in known:
            yield (*where, "cells", index), unknown_name("cell", cell, known)


CHECKS = (
    _missing_errors,
    _data_errors,
    _method_errors,
    _control_errors,
    _effect_errors,
    _weights_errors,
    _retrain_errors,
    _shadow_errors,
    _trust_errors,
    _atlas_errors,
    _cell_name_errors,
    _cell_errors,
    _sweep_errors,
    _support_size_errors,
)

"""Checks of a benchmark beyond the schema: names must exist, and keys must fit together."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from collateral.config.cells import class_cells, list_cells, round_names, streams
from collateral.config.errors import Place, Problem, collect_errors, explain
from collateral.config.methods import resolve
from collateral.config.names import LONGEST, is_slug, name_errors
from collateral.config.schema import ALL, LEAST_SHADOWS, BenchmarkConfig
from collateral.config.sweep_checks import support_size_errors, sweep_errors
from collateral.config.weights import CELL, NONE, SEED, GivenParams, RetrainParams
from collateral.contract.conventions import PAPER, class_index
from collateral.contract.messages import did_you_mean, quoted, unknown_name
from collateral.data._metadata import find_class_names
from collateral.plugins.find import (
    CONTROL,
    DATA,
    FINDING,
    FORGET,
    METHOD,
    MODEL,
    Kind,
    params_class,
)

WEIGHTS = (".safetensors", ".pt", ".pth")  # suffixes of weight files
# Name of the module, in the folder of a finding, that contains published numbers of Retrain.
RETRAIN_PART = "retrain"


def benchmark_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Yield the errors of a benchmark; positions start at the benchmark."""
    if not MODEL.has(benchmark.model):
        yield ("model",), _unknown_plugin(MODEL, benchmark.model)
    yield from _weights_errors(benchmark)
    yield from _effect_errors(benchmark)
    problems, classes = _data_errors(benchmark)
    yield from problems
    if classes is not None:
        yield from _class_errors(benchmark, classes)
    yield from _method_errors(benchmark)
    yield from _given_errors(benchmark)
    yield from _printed_errors(benchmark)
    yield from _further_errors(benchmark)
    yield from _control_errors(benchmark)
    yield from _class_cell_errors(benchmark)
    for name in benchmark.cells:
        yield from _cell_errors(benchmark, ("cells", name), classes)
    for name in benchmark.sweeps:
        yield from sweep_errors(benchmark, ("sweeps", name))
    yield from support_size_errors(benchmark)
    for index, name in enumerate(benchmark.track):
        if name not in (ALL, *benchmark.methods):
            yield ("track", index), unknown_name("method", name, benchmark.methods)


def missing_errors(benchmark: BenchmarkConfig) -> Iterator[str]:
    """Yield one error if nothing is unlearned, and one if nothing is forgotten."""
    if not benchmark.methods and not benchmark.given:
        yield "nothing to judge: list `methods`, or weights under `given`"
    if bool(benchmark.classes) != bool(benchmark.fractions):
        yield "`classes` and `fractions` go together: both, or neither"
    elif not benchmark.classes and not benchmark.cells:
        yield "nothing to forget: give `classes` and `fractions`, or `cells`"


def _weights_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check the file names of weights; jobs check the content of the files."""
    init, base = benchmark.init, benchmark.base
    if init is not None:
        yield from _suffix_errors(init.weights, ("init", "weights"))
        if SEED in str(init.weights):
            text = f"{quoted(str(init.weights))}: one file for all seeds, so without {SEED}"
            yield ("init", "weights"), text
    yield from _suffix_errors(base.weights, ("base", "weights"))
    if base.rename and base.weights is None:
        yield ("base", "rename"), "goes with `weights`, which is not given"


def _effect_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Report keys that have no effect in combination with other keys."""
    base, given = benchmark.base, benchmark.base.model_fields_set
    for key in ("momentum", "nesterov"):
        if base.optimizer != "sgd" and key in given and getattr(base, key):
            yield ("base", key), _without_effect("optimizer: sgd", base.optimizer)
    if base.optimizer == "sgd" and base.nesterov and "nesterov" in given and not base.momentum:
        yield ("base", "nesterov"), _without_effect("a momentum above 0", "momentum: 0")
    if "validation_share" in given and base.checkpoint != "best_validation":
        text = _without_effect("checkpoint: best_validation", base.checkpoint)
        yield ("base", "validation_share"), text
    if benchmark.positive is not None and not benchmark.groups:
        text = "without effect: no `groups` to compare; give some, or leave it out"
        yield ("positive",), text
    if benchmark.select != PAPER and not _is_tuned(benchmark):
        text = "no method has a list of values to choose from; give one, or leave it out"
        yield ("select",), f"{quoted(benchmark.select)}: without effect: {text}"


def _without_effect(needed: str, found: str) -> str:
    needs = f"it goes with `{needed}`, and the config says {found}"
    return f"without effect: {needs}; leave it out"


def _is_tuned(benchmark: BenchmarkConfig) -> bool:
    entries = [benchmark.methods, *(cell.methods for cell in benchmark.cells.values())]
    values = [value for methods in entries for raw in methods.values() for value in raw.values()]
    return any(isinstance(value, list) and len(value) > 1 for value in values)


def _suffix_errors(file: Path | None, where: Place) -> Iterator[Problem]:
    if file is not None and file.suffix not in WEIGHTS:
        yield where, f"{quoted(str(file))}: should end with one of {', '.join(WEIGHTS)}"


def _given_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check the user's unlearned or retrained weights: names of runs, and one file per run."""
    for name, given in benchmark.given.items():
        yield from name_errors(("given", name))
        if name in (*benchmark.methods, *CONTROL.names()):
            yield ("given", name), "a method or control has this name; choose another"
        yield from _own_file_errors(benchmark, given, ("given", name, "weights"))
    if benchmark.retrain is not None and benchmark.retrain.weights is not None:
        yield from _own_file_errors(benchmark, benchmark.retrain, ("retrain", "weights"))


def _printed_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check that the publication under `retrain.printed` has Retrain's numbers for every cell."""
    if not (name := benchmark.printed):
        return
    where, found = ("retrain", "printed"), FINDING.parts(RETRAIN_PART)
    sources = [known for known in FINDING.names() if FINDING.module(known, RETRAIN_PART) in found]
    if name not in sources:
        yield where, unknown_name("printed numbers", name, sources)
        return
    source = FINDING.load(name, RETRAIN_PART)
    for cell, forget in list_cells(benchmark).items():
        if not source.has_retrain(benchmark.data, benchmark.model, forget.params):
            has = f"it has them for {source.SETTINGS}; or say `retrain: {NONE}`"
            yield where, f"{quoted(name)}: no numbers of Retrain for {cell}; {has}"


def _further_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check keys that need Retrain, and the shadow models."""
    if not benchmark.has_retrain:
        says = f"the config says {_retrain_text(benchmark)}; leave one of them out"
        for key in ("probe", "sweeps", "support_size", "groups"):
            if getattr(benchmark, key):
                yield (key,), f"held against Retrain, and {says}"
    if benchmark.shadows:
        for text in _shadow_errors(benchmark):
            yield ("shadows",), text
        kinds = [forget.kind for forget in list_cells(benchmark).values()]
        if not benchmark.shadows.attack and not any(map(_needs_shadows, kinds)):
            text = "no forget set is of kind `memorised`: leave `shadows` out"
            yield ("shadows", "attack"), f"false: {text}"


def _shadow_errors(benchmark: BenchmarkConfig) -> Iterator[str]:
    """Check that shadow models can be trained like the base model, and that they are used."""
    base = benchmark.base
    if base.checkpoint == "best_validation":
        held_out = "holds out examples that would count as seen"
        yield f"`base.checkpoint: {base.checkpoint}` {held_out}; leave one of them out"
    if base.weights is not None and "epochs" not in base.model_fields_set:
        recipe = "trained as the base is, and beside `base.weights` is no recipe"
        yield f"{recipe}; give `base.epochs` at least"
    if rounds := streams(benchmark):
        yield f"not with `rounds`, as in cells.{rounds[0]}; leave one of them out"
    if not benchmark.methods:
        yield "no method would unlearn from them; list `methods`, or leave it out"


def _retrain_text(benchmark: BenchmarkConfig) -> str:
    """Return the config's line `retrain: ...` for messages; the benchmark retrains no model."""
    value = f"{{printed: {benchmark.printed}}}" if benchmark.printed else NONE
    return f"`retrain: {value}`"


def _own_file_errors(
    benchmark: BenchmarkConfig, given: GivenParams | RetrainParams, where: Place
) -> Iterator[Problem]:
    """Report a file that several runs use, because one model would count several times."""
    file = str(given.weights)
    yield from _suffix_errors(given.weights, where)
    if CELL not in file and (count := len(list_cells(benchmark))) > 1:
        yield where, f"{quoted(file)}: one file for {count} forget sets; put {CELL} into its name"
    # If all seeds share one base model, one file of unlearned weights may serve all seeds.
    may_be_shared = benchmark.base.sharing == "shared" and isinstance(given, GivenParams)
    if SEED not in file and not may_be_shared and (count := len(benchmark.seeds)) > 1:
        spread = f"one file for {count} seeds, whose spread would be none"
        yield where, f"{quoted(file)}: {spread}; put {SEED} into its name, or give one seed"


def _data_errors(benchmark: BenchmarkConfig) -> tuple[list[Problem], tuple[str, ...] | None]:
    """Return the errors of `data:`, and the class names if the config determines them."""
    name = benchmark.data.get("name")
    if name not in DATA.names():
        return [(("data", "name"), _unknown_plugin(DATA, name))], None
    problems, options = _validate(DATA.load(name).Options, benchmark.data_options, ("data",))
    if options is None:
        return problems, None
    try:
        return [], find_class_names(name, options)
    except ValueError as error:
        return [(("data", "classes"), str(error))], None


def _class_errors(benchmark: BenchmarkConfig, classes: tuple[str, ...]) -> Iterator[Problem]:
    """Check that the data set has the classes under `classes` and `positive`."""
    for index, value in enumerate(benchmark.classes):
        if isinstance(value, int) and not 0 <= value < len(classes):
            text = f"{value}: should be a name, or an index below {len(classes)}"
            yield ("classes", index), text
        elif isinstance(value, str) and value not in classes:
            yield ("classes", index), unknown_name("class", value, classes)
    if benchmark.positive is not None:
        try:
            class_index(benchmark.positive, classes)
        except ValueError as error:
            yield ("positive",), str(error)


def _class_cell_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Check that each pair of class and fraction gives a distinct, valid folder name."""
    cells = class_cells(benchmark)
    if len(cells) < len(benchmark.classes) * len(benchmark.fractions):
        yield ("classes",), "two of them, or two fractions, make one cell's name"
    for name in cells:
        if not is_slug(name):
            yield ("classes",), f"cell {quoted(name)}: more than {LONGEST} letters for a folder"


def _method_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    for name, raw in benchmark.methods.items():
        yield from name_errors(("methods", name))
        yield from collect_errors(partial(resolve, name, raw, ("methods", name)))


def _control_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    for index, name in enumerate(benchmark.controls):
        if error := _control_error(benchmark, name):
            yield ("controls", index), error


def _control_error(benchmark: BenchmarkConfig, name: str) -> str:
    """Return why a control cannot run: unknown name, no Retrain, or its method is not listed."""
    if name in METHOD.names():
        return f"'{name}' is a method; list it under `methods:`"
    if name not in CONTROL.names():
        return unknown_name("control", name, CONTROL.names())
    if not benchmark.has_retrain and params_class(name).needs_retrain:
        return f"'{name}' needs Retrain, and the config says {_retrain_text(benchmark)}"
    parent = params_class(name).inherits
    users = [key for key, raw in benchmark.methods.items() if raw.get("uses", key) == parent]
    if parent and parent not in users and len(users) != 1:
        found = f"{len(users)} of them are under `methods:`"
        return f"'{name}' takes its parameters from {parent}; {found}"
    return ""


def _cell_errors(
    benchmark: BenchmarkConfig, where: Place, classes: tuple[str, ...] | None
) -> Iterator[Problem]:
    cell = benchmark.cells[str(where[-1])]
    yield from name_errors(where)
    if where[-1] in class_cells(benchmark):
        yield where, "`classes` and `fractions` make a cell of this name already"
    for forget, place in zip(cell.requests, cell.places, strict=True):
        yield from _forget_errors(forget, (*where, *place), classes)
        if _needs_shadows(forget.get("kind")):
            yield from _pool_errors(benchmark, (*where, *place))
    if cell.rounds:
        yield from _round_name_errors(benchmark, where)
    for name, raw in cell.methods.items():
        place = (*where, "methods", name)
        if name not in benchmark.methods:
            yield place, f"not under `methods:`{did_you_mean(name, benchmark.methods)}"
            continue
        merged = {**benchmark.methods[name], **raw}
        yield from collect_errors(partial(resolve, name, merged, place))


def _round_name_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[Problem]:
    """Check that the rounds give names of cells that no other cell has."""
    for name in round_names(benchmark, str(where[-1])):
        if name in benchmark.cells or name in class_cells(benchmark) or not is_slug(name):
            why = f"which is a name of another cell, or has more than {LONGEST} letters"
            yield where, f"its rounds make a cell {quoted(name)}, {why}"


def _forget_errors(
    forget: Mapping[str, Any], where: Place, classes: tuple[str, ...] | None
) -> Iterator[Problem]:
    kind = forget.get("kind")
    if kind not in FORGET.names():
        yield (*where, "kind"), _unknown_plugin(FORGET, kind)
        return
    module = FORGET.load(kind)
    given = {key: value for key, value in forget.items() if key != "kind"}
    problems, params = _validate(module.Params, given, where)
    yield from problems
    if params is not None and classes is not None and hasattr(module, "find_classes"):
        try:
            module.find_classes(params, classes)
        except ValueError as error:
            key, _, text = str(error).partition(": ")
            yield (*where, key), text


def _needs_shadows(kind: Any) -> bool:
    """Tell whether a kind of forget set is chosen by shadow models."""
    return kind in FORGET.names() and getattr(FORGET.load(kind), "NEEDS", "") == "shadows"


def _pool_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[Problem]:
    """Check the number of shadow models: half choose the forget set, half serve the attack."""
    count, least = benchmark.shadows.count if benchmark.shadows else 0, 4 * LEAST_SHADOWS
    if count < least:
        found = f"`shadows.count` is {count}" if count else "there are no `shadows`"
        yield where, f"needs {least} shadow models at least; {found}"


def _unknown_plugin(kind: Kind, name: Any) -> str:
    return kind.no_such(name) if name is not None else f"missing; known: {', '.join(kind.names())}"


def _validate(
    model: type[BaseModel], given: Mapping[str, Any], where: Place
) -> tuple[list[Problem], Any | None]:
    """Return the errors of the value `given`, or the validated model."""
    try:
        return [], model.model_validate(dict(given))
    except ValidationError as error:
        return explain(error, model, where), None

"""Checks of a benchmark beyond the schema: names must exist, and keys must fit together."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from collateral.config.cells import class_cells, list_cells, round_names, streams
from collateral.config.errors import Place, collect_errors, explain, format_key
from collateral.config.methods import resolve
from collateral.config.names import LONGEST, is_slug, name_errors
from collateral.config.schema import ALL, LEAST_SHADOWS, BenchmarkConfig, ShadowsConfig
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
RETRAIN_PART = "retrain"  # name of the file of a finding that contains published numbers of Retrain


def benchmark_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Yield one message per error of a benchmark."""
    yield from name_errors(where)
    if not MODEL.has(benchmark.model):
        yield _unknown_plugin(MODEL, benchmark.model, (*where, "model"))
    yield from _weights_errors(benchmark, where)
    yield from _effect_errors(benchmark, where)
    messages, classes = _data_errors(benchmark, (*where, "data"))
    yield from messages
    if classes is not None:
        yield from _class_errors(benchmark, classes, (*where, "classes"))
        yield from _positive_errors(benchmark, classes, (*where, "positive"))
    yield from _method_errors(benchmark, where)
    yield from _given_errors(benchmark, where)
    if benchmark.printed:
        yield from _printed_errors(benchmark, (*where, "retrain", "printed"))
    yield from _further_errors(benchmark, where)
    yield from _control_errors(benchmark, (*where, "controls"))
    yield from _class_cell_errors(benchmark, (*where, "classes"))
    for name in benchmark.cells:
        yield from _cell_errors(benchmark, (*where, "cells", name), classes)
    for name in benchmark.sweeps:
        yield from sweep_errors(benchmark, (*where, "sweeps", name))
    if benchmark.support_size:
        yield from support_size_errors(benchmark, (*where, "support_size"))
    yield from _track_errors(benchmark, (*where, "track"))


def missing_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Yield one message if nothing is unlearned, and one if nothing is forgotten."""
    place = format_key(where)
    if not benchmark.methods and not benchmark.given:
        yield f"{place}: nothing to judge: list `methods`, or weights under `given`"
    if bool(benchmark.classes) != bool(benchmark.fractions):
        yield f"{place}: `classes` and `fractions` go together: both, or neither"
    elif not benchmark.classes and not benchmark.cells:
        yield f"{place}: nothing to forget: give `classes` and `fractions`, or `cells`"


def _weights_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check the file names of weights; jobs check the content of the files."""
    for key, given in (("init", benchmark.init), ("base", benchmark.base)):
        file = given.weights if given else None
        place = format_key((*where, key, "weights"))
        yield from _suffix_errors(file, place)
        if file is not None and key == "init" and SEED in str(file):
            yield f"{place}: {quoted(str(file))}: one file for all seeds, so without {SEED}"
    if benchmark.base.rename and benchmark.base.weights is None:
        yield f"{format_key((*where, 'base', 'rename'))}: goes with `weights`, which is not given"


def _effect_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Report keys that have no effect in combination with other keys."""
    base, given = benchmark.base, benchmark.base.model_fields_set
    for key in ("momentum", "nesterov"):
        if base.optimizer != "sgd" and key in given and getattr(base, key):
            place = format_key((*where, "base", key))
            yield _without_effect(place, "optimizer: sgd", base.optimizer)
    if base.optimizer == "sgd" and base.nesterov and "nesterov" in given and not base.momentum:
        place = format_key((*where, "base", "nesterov"))
        yield _without_effect(place, "a momentum above 0", "momentum: 0")
    if "validation_share" in given and base.checkpoint != "best_validation":
        place = format_key((*where, "base", "validation_share"))
        yield _without_effect(place, "checkpoint: best_validation", base.checkpoint)
    if benchmark.positive is not None and not benchmark.groups:
        place = format_key((*where, "positive"))
        yield f"{place}: without effect: no `groups` to compare; give some, or leave it out"
    if benchmark.select != PAPER and not _is_tuned(benchmark):
        yield (
            f"{format_key((*where, 'select'))}: {quoted(benchmark.select)}: without effect: no "
            + ("method has a list of values to choose from; give one, or leave it out")
        )


def _without_effect(place: str, needed: str, found: str) -> str:
    needs = f"it goes with `{needed}`, and the config says {found}"
    return f"{place}: without effect: {needs}; leave it out"


def _is_tuned(benchmark: BenchmarkConfig) -> bool:
    entries = [benchmark.methods, *(cell.methods for cell in benchmark.cells.values())]
    values = [value for methods in entries for raw in methods.values() for value in raw.values()]
    return any(isinstance(value, list) and len(value) > 1 for value in values)


def _suffix_errors(file: Path | None, place: str) -> Iterator[str]:
    if file is not None and file.suffix not in WEIGHTS:
        yield f"{place}: {quoted(str(file))}: should end with one of {', '.join(WEIGHTS)}"


def _given_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check the user's unlearned or retrained weights: names of runs, and one file per run."""
    for name, given in benchmark.given.items():
        place = (*where, "given", name)
        yield from name_errors(place)
        if name in (*benchmark.methods, *CONTROL.names()):
            yield f"{format_key(place)}: a method or control has this name; choose another"
        yield from _own_file_errors(benchmark, given, place)
    if benchmark.retrain is not None and benchmark.retrain.weights is not None:
        yield from _own_file_errors(benchmark, benchmark.retrain, (*where, "retrain"))


def _printed_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check that a publication prints Retrain's numbers in the setting of every cell."""
    place, name, found = format_key(where), benchmark.printed, FINDING.parts(RETRAIN_PART)
    sources = [known for known in FINDING.names() if FINDING.module(known, RETRAIN_PART) in found]
    if name not in sources:
        yield f"{place}: {unknown_name('printed numbers', name, sources)}"
        return
    source = FINDING.load(name, RETRAIN_PART)
    for cell, forget in list_cells(benchmark).items():
        if not source.has_retrain(benchmark.data, benchmark.model, forget.params):
            yield f"{place}: {quoted(name)}: no numbers of Retrain for {cell}; it has them for " + (
                f"{source.SETTINGS}; or say `retrain: {NONE}`"
            )


def _further_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check keys that need Retrain, and the shadow models."""
    if not benchmark.has_retrain:
        says = f"the config says {_retrain_text(benchmark)}; leave one of them out"
        for key in ("probe", "sweeps", "support_size", "groups"):
            if getattr(benchmark, key):
                yield f"{format_key((*where, key))}: held against Retrain, and {says}"
    if benchmark.shadows:
        yield from _shadow_errors(benchmark, benchmark.shadows, (*where, "shadows"))


def _shadow_errors(
    benchmark: BenchmarkConfig, shadows: ShadowsConfig, where: Place
) -> Iterator[str]:
    """Check that shadow models can be trained like the base model, and that they are used."""
    place, base = format_key(where), benchmark.base
    if base.checkpoint == "best_validation":
        yield (
            f"{place}: `base.checkpoint: {base.checkpoint}` holds out examples that would count as "
            "seen; leave one of them out"
        )
    if base.weights is not None and "epochs" not in base.model_fields_set:
        yield f"{place}: trained as the base is, and beside `base.weights` is no recipe; " + (
            "give `base.epochs` at least"
        )
    if rounds := streams(benchmark):
        yield f"{place}: not with `rounds`, as in cells.{rounds[0]}; leave one of them out"
    if not benchmark.methods:
        yield f"{place}: no method would unlearn from them; list `methods`, or leave it out"
    kinds = [forget.kind for forget in list_cells(benchmark).values()]
    if not shadows.attack and not any(map(_needs_shadows, kinds)):
        yield f"{place}.attack: false: no forget set is of kind `memorised`: leave `shadows` out"


def _retrain_text(benchmark: BenchmarkConfig) -> str:
    """Return the key `retrain` and its value, for a benchmark without a retrained model."""
    value = f"{{printed: {benchmark.printed}}}" if benchmark.printed else NONE
    return f"`retrain: {value}`"


def _own_file_errors(
    benchmark: BenchmarkConfig, given: GivenParams | RetrainParams, where: Place
) -> Iterator[str]:
    """Report a file that several runs use, because one model would count several times."""
    file, place = str(given.weights), format_key((*where, "weights"))
    yield from _suffix_errors(given.weights, place)
    if CELL not in file and (count := len(list_cells(benchmark))) > 1:
        yield f"{place}: {quoted(file)}: one file for {count} forget sets; put {CELL} into its name"
    # With a shared base model, one unlearned model may be compared with Retrain for every seed.
    may_be_shared = benchmark.base.sharing == "shared" and isinstance(given, GivenParams)
    if SEED not in file and not may_be_shared and (count := len(benchmark.seeds)) > 1:
        yield (
            f"{place}: {quoted(file)}: one file for {count} seeds, whose spread would be none; put "
            f"{SEED} into its name, or give one seed"
        )


def _data_errors(
    benchmark: BenchmarkConfig, where: Place
) -> tuple[list[str], tuple[str, ...] | None]:
    """Return the errors of `data:`, and the class names if the config determines them."""
    name = benchmark.data.get("name")
    if name not in DATA.names():
        return [_unknown_plugin(DATA, name, (*where, "name"))], None
    messages, options = _validate(DATA.load(name).Options, benchmark.data_options, where)
    if options is None:
        return messages, None
    try:
        return [], find_class_names(name, options)
    except ValueError as error:
        return [f"{format_key((*where, 'classes'))}: {error}"], None


def _positive_errors(
    benchmark: BenchmarkConfig, classes: tuple[str, ...], where: Place
) -> Iterator[str]:
    if benchmark.positive is not None:
        try:
            class_index(benchmark.positive, classes)
        except ValueError as error:
            yield f"{format_key(where)}: {error}"


def _class_errors(
    benchmark: BenchmarkConfig, classes: tuple[str, ...], where: Place
) -> Iterator[str]:
    for index, value in enumerate(benchmark.classes):
        key = format_key((*where, index))
        if isinstance(value, int) and not 0 <= value < len(classes):
            yield f"{key}: {value}: should be a name, or an index below {len(classes)}"
        elif isinstance(value, str) and value not in classes:
            yield f"{key}: {unknown_name('class', value, classes)}"


def _class_cell_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check that classes x fractions give distinct names that can be folder names."""
    cells = class_cells(benchmark)
    if len(cells) < len(benchmark.classes) * len(benchmark.fractions):
        yield f"{format_key(where)}: two of them, or two fractions, make one cell's name"
    for name in cells:
        if not is_slug(name):
            key = format_key(where)
            yield f"{key}: cell {quoted(name)}: more than {LONGEST} letters for a folder"


def _method_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    for name, raw in benchmark.methods.items():
        place = (*where, "methods", name)
        yield from name_errors(place)
        yield from collect_errors(partial(resolve, name, raw, place))


def _inheritance_errors(benchmark: BenchmarkConfig, name: str, where: Place) -> Iterator[str]:
    """Check that exactly one method has the parameters that a control inherits."""
    parent = params_class(name).inherits
    users = [key for key, raw in benchmark.methods.items() if raw.get("uses", key) == parent]
    if parent and parent not in users and len(users) != 1:
        found = f"{len(users)} of them are under `methods:`"
        yield f"{format_key(where)}: '{name}' takes its parameters from {parent}; {found}"


def _control_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    for index, name in enumerate(benchmark.controls):
        key = format_key((*where, index))
        if name in METHOD.names():
            yield f"{key}: '{name}' is a method; list it under `methods:`"
        elif name not in CONTROL.names():
            yield f"{key}: {unknown_name('control', name, CONTROL.names())}"
        elif not benchmark.has_retrain and params_class(name).needs_retrain:
            yield f"{key}: '{name}' needs Retrain, and the config says {_retrain_text(benchmark)}"
        else:
            yield from _inheritance_errors(benchmark, name, (*where, index))


def _cell_errors(
    benchmark: BenchmarkConfig, where: Place, classes: tuple[str, ...] | None
) -> Iterator[str]:
    cell = benchmark.cells[str(where[-1])]
    yield from name_errors(where)
    if where[-1] in class_cells(benchmark):
        yield f"{format_key(where)}: `classes` and `fractions` make a cell of this name already"
    for forget, place in zip(cell.requests, cell.places, strict=True):
        yield from _forget_errors(forget, (*where, *place), classes)
        if _needs_shadows(forget.get("kind")):
            yield from _pool_errors(benchmark, (*where, *place))
    if cell.rounds:
        yield from _round_name_errors(benchmark, where)
    for name, raw in cell.methods.items():
        place = (*where, "methods", name)
        if name not in benchmark.methods:
            hint = did_you_mean(name, benchmark.methods)
            yield f"{format_key(place)}: not under `methods:`{hint}"
            continue
        merged = {**benchmark.methods[name], **raw}
        yield from collect_errors(partial(resolve, name, merged, place))


def _round_name_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check that the rounds give names of cells that no other cell has."""
    for name in round_names(benchmark, str(where[-1])):
        if name in benchmark.cells or name in class_cells(benchmark) or not is_slug(name):
            yield f"{format_key(where)}: its rounds make a cell {quoted(name)}, " + (
                f"which is a name of another cell, or has more than {LONGEST} letters"
            )


def _forget_errors(
    forget: Mapping[str, Any], where: Place, classes: tuple[str, ...] | None
) -> Iterator[str]:
    kind = forget.get("kind")
    if kind not in FORGET.names():
        yield _unknown_plugin(FORGET, kind, (*where, "kind"))
        return
    module = FORGET.load(kind)
    given = {key: value for key, value in forget.items() if key != "kind"}
    messages, params = _validate(module.Params, given, where)
    yield from messages
    if params is not None and classes is not None and hasattr(module, "find_classes"):
        try:
            module.find_classes(params, classes)
        except ValueError as error:
            key, _, problem = str(error).partition(": ")
            yield f"{format_key((*where, key))}: {problem}"


def _needs_shadows(kind: Any) -> bool:
    """Tell whether a kind of forget set is chosen by shadow models."""
    return kind in FORGET.names() and getattr(FORGET.load(kind), "NEEDS", "") == "shadows"


def _pool_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check the number of shadow models: half of them choose the forget set, half are attacked."""
    count, least = benchmark.shadows.count if benchmark.shadows else 0, 4 * LEAST_SHADOWS
    if count < least:
        found = f"`shadows.count` is {count}" if count else "there are no `shadows`"
        yield f"{format_key(where)}: needs {least} shadow models at least; {found}"


def _track_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    for index, name in enumerate(benchmark.track):
        if name not in (ALL, *benchmark.methods):
            error = unknown_name("method", name, benchmark.methods)
            yield f"{format_key((*where, index))}: {error}"


def _unknown_plugin(kind: Kind, name: Any, where: Place) -> str:
    if name is None:
        return f"{format_key(where)}: missing; known: {', '.join(kind.names())}"
    return f"{format_key(where)}: {kind.no_such(name)}"


def _validate(
    model: type[BaseModel], given: Mapping[str, Any], where: Place
) -> tuple[list[str], Any | None]:
    """Return the errors of the value `given`, or the validated model."""
    try:
        return [], model.model_validate(dict(given))
    except ValidationError as error:
        return explain(error, model, where), None

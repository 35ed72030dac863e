"""What the shape of the config cannot tell: names that must exist, values that must fit them."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from collateral.config.cells import cells_of, class_cells
from collateral.config.errors import Place, caught, explain, key_of
from collateral.config.methods import resolve
from collateral.config.names import LONGEST, is_slug, name_errors
from collateral.config.schema import ALL, BenchmarkConfig
from collateral.config.sweep_checks import support_size_errors, sweep_errors
from collateral.config.weights import CELL, NONE, SEED, GivenParams, RetrainParams
from collateral.contract.plugins import CONTROL, DATA, FORGET, METHOD, MODEL, Kind, params_class
from collateral.contract.selection import PAPER
from collateral.contract.spelling import nearest, shown, unknown
from collateral.data._facts import known_classes

WEIGHTS = (".safetensors", ".pt", ".pth")


def benchmark_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Yield a message for each thing that is wrong with a benchmark."""
    yield from name_errors(where)
    if not MODEL.has(benchmark.model):
        yield _no_such(MODEL, benchmark.model, (*where, "model"))
    yield from _weights_errors(benchmark, where)
    yield from _effect_errors(benchmark, where)
    messages, classes = _data_errors(benchmark, (*where, "data"))
    yield from messages
    if classes is not None:
        yield from _class_errors(benchmark, classes, (*where, "classes"))
    yield from _method_errors(benchmark, where)
    yield from _given_errors(benchmark, where)
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


def _weights_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check what files of weights are called; what is in them, the job that reads them checks."""
    for key, given in (("init", benchmark.init), ("base", benchmark.base)):
        file = given.weights if given else None
        place = key_of((*where, key, "weights"))
        yield from _suffix_errors(file, place)
        if file is not None and key == "init" and SEED in str(file):
            yield f"{place}: {shown(str(file))}: one file for all seeds, so without {SEED}"
    if benchmark.base.rename and benchmark.base.weights is None:
        yield f"{key_of((*where, 'base', 'rename'))}: goes with `weights`, which is not given"


def _effect_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Yield the keys that are given and would change nothing."""
    base, given = benchmark.base, benchmark.base.model_fields_set
    for key in ("momentum", "nesterov"):
        if base.optimizer != "sgd" and key in given and getattr(base, key):
            place = key_of((*where, "base", key))
            yield (
                f"{place}: without effect: it goes with `optimizer: sgd`, and the config says "
                + (f"{base.optimizer}; leave it out")
            )
    if "validation_share" in given and base.checkpoint != "best_validation":
        yield f"{key_of((*where, 'base', 'validation_share'))}: without effect: it goes with " + (
            f"`checkpoint: best_validation`, and the config says {base.checkpoint}; leave it out"
        )
    if benchmark.select != PAPER and not _is_tuned(benchmark):
        yield f"{key_of((*where, 'select'))}: {shown(benchmark.select)}: without effect: no " + (
            "method has a list of values to choose from; give one, or leave it out"
        )


def _is_tuned(benchmark: BenchmarkConfig) -> bool:
    entries = [benchmark.methods, *(cell.methods for cell in benchmark.cells.values())]
    values = [value for methods in entries for raw in methods.values() for value in raw.values()]
    return any(isinstance(value, list) and len(value) > 1 for value in values)


def _suffix_errors(file: Path | None, place: str) -> Iterator[str]:
    if file is not None and file.suffix not in WEIGHTS:
        yield f"{place}: {shown(str(file))}: should end with one of {', '.join(WEIGHTS)}"


def _given_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check weights that somebody else unlearned, or retrained: names, and a file for each run."""
    for name, given in benchmark.given.items():
        place = (*where, "given", name)
        yield from name_errors(place)
        if name in (*benchmark.methods, *CONTROL.names()):
            yield f"{key_of(place)}: a method or control has this name; choose another"
        yield from _own_file_errors(benchmark, given, place)
    if benchmark.retrain is not None and benchmark.retrain.weights is not None:
        yield from _own_file_errors(benchmark, benchmark.retrain, (*where, "retrain"))


def _further_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check that what needs Retrain has one, and that shadow models are trained as the base is."""
    if benchmark.retrain is None:
        says = f"the config says `retrain: {NONE}`; leave one of them out"
        for key in ("probe", "sweeps", "support_size"):
            if getattr(benchmark, key):
                yield f"{key_of((*where, key))}: held against Retrain, and {says}"
    if not benchmark.shadows:
        return
    place, base = key_of((*where, "shadows")), benchmark.base
    if base.checkpoint == "best_validation":
        yield (
            f"{place}: `base.checkpoint: {base.checkpoint}` holds out examples that would count as "
            "seen; leave one of them out"
        )
    if base.weights is not None and "epochs" not in base.model_fields_set:
        yield f"{place}: trained as the base is, and beside `base.weights` is no recipe; " + (
            "give `base.epochs` at least"
        )
    if not benchmark.methods:
        yield f"{place}: no method would unlearn from them; list `methods`, or leave it out"


def _own_file_errors(
    benchmark: BenchmarkConfig, given: GivenParams | RetrainParams, where: Place
) -> Iterator[str]:
    """Check that no file stands for several runs: one model would count as many."""
    file, place = str(given.weights), key_of((*where, "weights"))
    yield from _suffix_errors(given.weights, place)
    if CELL not in file and (count := len(cells_of(benchmark))) > 1:
        yield f"{place}: {shown(file)}: one file for {count} forget sets; put {CELL} into its name"
    # From one base, one model may be unlearned once and held against every Retrain, as Original is.
    is_one_of_one = benchmark.base.sharing == "shared" and isinstance(given, GivenParams)
    if SEED not in file and not is_one_of_one and (count := len(benchmark.seeds)) > 1:
        yield (
            f"{place}: {shown(file)}: one file for {count} seeds, whose spread would be none; put "
            f"{SEED} into its name, or give one seed"
        )


def _data_errors(
    benchmark: BenchmarkConfig, where: Place
) -> tuple[list[str], tuple[str, ...] | None]:
    """Return what is wrong with the data set, and its classes where the config alone can tell."""
    name = benchmark.data.get("name")
    if name not in DATA.names():
        return [_no_such(DATA, name, (*where, "name"))], None
    messages, options = _parsed(DATA.load(name).Options, benchmark.data_options, where)
    if options is None:
        return messages, None
    try:
        return [], known_classes(name, options)
    except ValueError as error:
        return [f"{key_of((*where, 'classes'))}: {error}"], None


def _class_errors(
    benchmark: BenchmarkConfig, classes: tuple[str, ...], where: Place
) -> Iterator[str]:
    for index, value in enumerate(benchmark.classes):
        key = key_of((*where, index))
        if isinstance(value, int) and not 0 <= value < len(classes):
            yield f"{key}: {value}: should be a name, or an index below {len(classes)}"
        elif isinstance(value, str) and value not in classes:
            yield f"{key}: {unknown('class', value, classes)}"


def _class_cell_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Check that classes x fractions make names for folders, a different one each."""
    cells = class_cells(benchmark)
    if len(cells) < len(benchmark.classes) * len(benchmark.fractions):
        yield f"{key_of(where)}: two of them, or two fractions, make one cell's name"
    for name in cells:
        if not is_slug(name):
            yield f"{key_of(where)}: cell {shown(name)}: more than {LONGEST} letters for a folder"


def _method_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    for name, raw in benchmark.methods.items():
        place = (*where, "methods", name)
        yield from name_errors(place)
        yield from caught(partial(resolve, name, raw, place))


def _heir_errors(benchmark: BenchmarkConfig, name: str, where: Place) -> Iterator[str]:
    """Check that a control finds the one method whose parameters it takes."""
    parent = params_class(name).inherits
    users = [key for key, raw in benchmark.methods.items() if raw.get("uses", key) == parent]
    if parent and parent not in users and len(users) != 1:
        found = f"{len(users)} of them are under `methods:`"
        yield f"{key_of(where)}: '{name}' takes its parameters from {parent}; {found}"


def _control_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    for index, name in enumerate(benchmark.controls):
        key = key_of((*where, index))
        if name in METHOD.names():
            yield f"{key}: '{name}' is a method; list it under `methods:`"
        elif name not in CONTROL.names():
            yield f"{key}: {unknown('control', name, CONTROL.names())}"
        elif benchmark.retrain is None and params_class(name).needs_retrain:
            yield f"{key}: '{name}' needs Retrain, and the config says `retrain: {NONE}`"
        else:
            yield from _heir_errors(benchmark, name, (*where, index))


def _cell_errors(
    benchmark: BenchmarkConfig, where: Place, classes: tuple[str, ...] | None
) -> Iterator[str]:
    cell = benchmark.cells[str(where[-1])]
    yield from name_errors(where)
    if where[-1] in class_cells(benchmark):
        yield f"{key_of(where)}: `classes` and `fractions` make a cell of this name already"
    yield from _forget_errors(cell.forget, (*where, "forget"), classes)
    for name, raw in cell.methods.items():
        place = (*where, "methods", name)
        if name not in benchmark.methods:
            yield f"{key_of(place)}: not under `methods:`{nearest(name, benchmark.methods)}"
            continue
        merged = {**benchmark.methods[name], **raw}
        yield from caught(partial(resolve, name, merged, place))


def _forget_errors(
    forget: Mapping[str, Any], where: Place, classes: tuple[str, ...] | None
) -> Iterator[str]:
    kind = forget.get("kind")
    if kind not in FORGET.names():
        yield _no_such(FORGET, kind, (*where, "kind"))
        return
    module = FORGET.load(kind)
    given = {key: value for key, value in forget.items() if key != "kind"}
    messages, params = _parsed(module.Params, given, where)
    yield from messages
    if params is not None and classes is not None and hasattr(module, "problems"):
        for key, problem in module.problems(params, classes):
            yield f"{key_of((*where, key))}: {problem}"


def _track_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    for index, name in enumerate(benchmark.track):
        if name not in (ALL, *benchmark.methods):
            yield f"{key_of((*where, index))}: {unknown('method', name, benchmark.methods)}"


def _no_such(kind: Kind, name: Any, where: Place) -> str:
    if name is None:
        return f"{key_of(where)}: missing; known: {', '.join(kind.names())}"
    return f"{key_of(where)}: {kind.no_such(name)}"


def _parsed(
    model: type[BaseModel], given: Mapping[str, Any], where: Place
) -> tuple[list[str], Any | None]:
    """Return what is wrong with `given`, or the model made of it."""
    try:
        return [], model.model_validate(dict(given))
    except ValidationError as error:
        return explain(error, model, where), None

"""What the shape of the config cannot tell: names that must exist, values that must fit them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, ValidationError

from collateral.config.cells import cells_of, class_cells
from collateral.config.errors import ConfigError, Place, explain, key_of
from collateral.config.lookup import kind_of
from collateral.config.methods import resolve, validate
from collateral.config.schema import BenchmarkConfig
from collateral.core.spelling import nearest, unknown
from collateral.data.lookup import DATA, FORGET, known_classes, module_of
from collateral.paths import RESERVED, is_slug


def benchmark_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Yield a message for each thing that is wrong with a benchmark."""
    yield from _name_errors(where)
    yield from _data_errors(benchmark, (*where, "data"))
    yield from _method_errors(benchmark, where)
    yield from _control_errors(benchmark, (*where, "controls"))
    for name in benchmark.cells:
        yield from _cell_errors(benchmark, (*where, "cells", name))
    for name in benchmark.sweeps:
        yield from _sweep_errors(benchmark, (*where, "sweeps", name))


def _name_errors(where: Place) -> Iterator[str]:
    """Check that the last key may be a folder's name."""
    name = str(where[-1])
    if not is_slug(name) or name in RESERVED:
        yield f"{key_of(where)}: not usable as a folder's name; use a-z, 0-9, _, . and -, and " + (
            f"none of {', '.join(sorted(RESERVED))}"
        )


def _data_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    name = benchmark.data.get("name")
    if name not in DATA.names():
        yield f"{key_of((*where, 'name'))}: {unknown(DATA.what, str(name), DATA.names())}"
        return
    given = {key: value for key, value in benchmark.data.items() if key != "name"}
    messages, options = _parsed(module_of(DATA, name).Options, given, where)
    yield from messages
    if options is None:
        return
    try:
        classes = known_classes(name, options)
    except ValueError as error:
        yield f"{key_of(where)}: {error}"
        return
    if classes is not None:
        yield from _class_errors(benchmark, classes, where[:-1])


def _class_errors(
    benchmark: BenchmarkConfig, classes: tuple[str, ...], where: Place
) -> Iterator[str]:
    listed = [((*where, "classes", i), c) for i, c in enumerate(benchmark.classes)]
    listed += [
        ((*where, "cells", cell, "forget", "class"), config.forget["class"])
        for cell, config in benchmark.cells.items()
        if "class" in config.forget
    ]
    for place, value in listed:
        if isinstance(value, int) and not 0 <= value < len(classes):
            yield f"{key_of(place)}: {value}: should be a name, or an index below {len(classes)}"
        elif isinstance(value, str) and value not in classes:
            yield f"{key_of(place)}: {unknown('class', value, classes)}"


def _method_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    for name, raw in benchmark.methods.items():
        place = (*where, "methods", name)
        yield from _name_errors(place)
        yield from _caught(partial(resolve, name, raw, place))
        if raw.get("uses", name) in benchmark.controls:
            yield f"{key_of(place)}: a control; list it under `controls:`"


def _control_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    for index, name in enumerate(benchmark.controls):
        try:
            if kind_of(name) != "control":
                yield f"{key_of((*where, index))}: '{name}' is a method, not a control"
        except ValueError as error:
            yield f"{key_of((*where, index))}: {error}"


def _cell_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    cell = benchmark.cells[str(where[-1])]
    yield from _name_errors(where)
    if where[-1] in class_cells(benchmark):
        yield f"{key_of(where)}: `classes` and `fractions` make a cell of this name already"
    kind = cell.forget.get("kind")
    if kind in FORGET.names():
        given = {key: value for key, value in cell.forget.items() if key != "kind"}
        yield from _parsed(module_of(FORGET, str(kind)).Params, given, (*where, "forget"))[0]
    else:
        message = unknown(FORGET.what, str(kind), FORGET.names())
        yield f"{key_of((*where, 'forget', 'kind'))}: {message}"
    for name, raw in cell.methods.items():
        place = (*where, "methods", name)
        if name not in benchmark.methods:
            yield f"{key_of(place)}: not under `methods:`{nearest(name, benchmark.methods)}"
            continue
        merged = {**benchmark.methods[name], **raw}
        yield from _caught(partial(resolve, name, merged, place))


def _sweep_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    sweep = benchmark.sweeps[str(where[-1])]
    cells = cells_of(benchmark)
    for index, cell in enumerate(sweep.cells or ()):
        if cell not in cells:
            yield f"{key_of((*where, 'cells', index))}: {unknown('cell', cell, cells)}"
    if sweep.method not in benchmark.methods:
        yield f"{key_of((*where, 'method'))}: " + unknown("method", sweep.method, benchmark.methods)
        return
    try:
        spec = resolve(sweep.method, benchmark.methods[sweep.method], where)
    except ConfigError:
        return  # said already, under `methods:`
    key, values = next(iter(sweep.vary.items()))
    for value in values:
        yield from _caught(partial(validate, spec, {key: value}, (*where, "vary")))


def _parsed(
    model: type[BaseModel], given: Mapping[str, Any], where: Place
) -> tuple[list[str], Any | None]:
    """Return what is wrong with `given`, or the model made of it."""
    try:
        return [], model.model_validate(dict(given))
    except ValidationError as error:
        return explain(error, model, where), None


def _caught(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except ConfigError as error:
        yield str(error)

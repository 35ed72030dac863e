"""Checks of `sweeps:` and `support_size:`: methods, cells, values."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from collateral.config.cells import list_cells, streams
from collateral.config.errors import ConfigError, Place, collect_errors, format_key
from collateral.config.methods import MethodSpec, resolve, validate
from collateral.config.names import LONGEST_RUN, format_value, format_varied, is_slug, name_errors
from collateral.config.schema import BenchmarkConfig, SweepConfig
from collateral.contract.messages import quoted, unknown_name
from collateral.plugins.find import params_class

TAUGHT = "ltd"  # method whose teacher is trained on supports of several sizes


def sweep_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Yield the errors of the sweep at this position of the config."""
    sweep = benchmark.sweeps[str(where[-1])]
    yield from name_errors(where)
    yield from _cell_errors(benchmark, sweep.cells, (*where, "cells"))
    if sweep.method not in benchmark.methods:
        yield f"{format_key((*where, 'method'))}: " + unknown_name(
            "method", sweep.method, benchmark.methods
        )
        return
    # A value of the sweep may be incompatible with parameters that are set for one cell only.
    listed = sweep.cells or benchmark.cells
    own = [cell.methods for name, cell in benchmark.cells.items() if name in listed]
    raws = [{}, *(methods[sweep.method] for methods in own if sweep.method in methods)]
    messages: dict[str, None] = {}
    for raw in raws:
        try:
            spec = resolve(sweep.method, {**benchmark.methods[sweep.method], **raw}, where)
        except ConfigError:
            continue  # this error is reported under `methods:`
        messages |= dict.fromkeys(_vary_errors(spec, sweep, where))
    yield from messages


def support_size_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[str]:
    """Yield the errors of `support_size:`."""
    given = benchmark.support_size
    assert given is not None
    yield from _cell_errors(benchmark, given.cells, (*where, "cells"))
    key = format_key((*where, "method"))
    if given.method not in benchmark.methods:
        yield f"{key}: {unknown_name('method', given.method, benchmark.methods)}"
    elif (uses := benchmark.methods[given.method].get("uses", given.method)) != TAUGHT:
        yield f"{key}: '{given.method}' is {uses}, which has no teacher; only {TAUGHT} has"


def _cell_errors(
    benchmark: BenchmarkConfig, listed: list[str] | None, where: Place
) -> Iterator[str]:
    cells, rounds = list_cells(benchmark), streams(benchmark)
    if listed is None and rounds:
        key = format_key(where[:-1])
        yield f"{key}: not in a cell with `rounds`, as {rounds[0]}; list other cells under `cells`"
    for index, cell in enumerate(listed or ()):
        if cell in rounds or (cell in cells and cells[cell].entry in rounds):
            yield f"{format_key((*where, index))}: {quoted(cell)}: not in a cell with `rounds`"
        elif cell not in cells:
            yield f"{format_key((*where, index))}: {unknown_name('cell', cell, cells)}"


def _vary_errors(spec: MethodSpec, sweep: SweepConfig, where: Place) -> Iterator[str]:
    """Check that every value is valid and gives the run a distinct name."""
    key = next(iter(sweep.vary))
    named: dict[str, Any] = {}
    for given in sweep.combinations():
        messages = list(_value_errors(spec, given, sweep, where))
        yield from messages
        if not given.keys() <= params_class(spec.uses).model_fields.keys():
            return  # one message is enough for all values of the sweep
        if messages:
            continue
        exact = spec.values(given)
        for name, value in given.items():
            text, part = format_value(exact[name]), "vary" if name == key else "along"
            if not is_slug(text.lstrip("-")):
                place = format_key((*where, part, name))
                yield f"{place}: {value!r}: not usable in a file's name as '{text}'"
        run = "@".join(format_varied({name: exact[name] for name in given}))
        if len(f"{spec.name}@{run}") > LONGEST_RUN:
            place = format_key(where)
            yield f"{place}: run {quoted(run)}: more than {LONGEST_RUN} letters for a folder"
        if run in named:
            place = format_key((*where, "vary", key))
            yield f"{place}: {named[run]!r} and {given[key]!r} make one run's name"
        named[run] = given[key]


def _value_errors(
    spec: MethodSpec, values: Mapping[str, Any], sweep: SweepConfig, where: Place
) -> Iterator[str]:
    """Check `along` before `vary`, so that each message names the key that is wrong."""
    along = {name: value for name, value in values.items() if name in sweep.along}
    trials = spec.trials()
    for given, part in ((along, "along"), (values, "vary")):
        # Tuning may choose any trial; an error that all trials share is reported once.
        checks = (partial(validate, spec, {**trial, **given}, (*where, part)) for trial in trials)
        if messages := dict.fromkeys(
            message for check in checks for message in collect_errors(check)
        ):
            yield from messages
            return

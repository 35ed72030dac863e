"""Checks of `sweeps:` and `support_size:`: methods, cells, values."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from collateral.config.cells import list_cells, streams
from collateral.config.errors import ConfigError, Place, Problem, collect_errors
from collateral.config.methods import MethodSpec, resolve, validate
from collateral.config.names import LONGEST_RUN, format_value, format_varied, is_slug, name_errors
from collateral.config.schema import BenchmarkConfig, SweepConfig
from collateral.contract.messages import quoted, unknown_name
from collateral.plugins.find import params_class

TAUGHT = "ltd"  # method whose teacher is trained on supports of several sizes


def sweep_errors(benchmark: BenchmarkConfig, where: Place) -> Iterator[Problem]:
    """Yield the errors of the sweep at this position of the config."""
    sweep = benchmark.sweeps[str(where[-1])]
    yield from name_errors(where)
    yield from _cell_errors(benchmark, sweep.cells, where)
    if sweep.method not in benchmark.methods:
        yield (*where, "method"), unknown_name("method", sweep.method, benchmark.methods)
        return
    # A value of the sweep may be incompatible with parameters that are set for one cell only.
    listed = sweep.cells or benchmark.cells
    own = [cell.methods for name, cell in benchmark.cells.items() if name in listed]
    raws = [{}, *(methods[sweep.method] for methods in own if sweep.method in methods)]
    problems: dict[Problem, None] = {}
    for raw in raws:
        try:
            spec = resolve(sweep.method, {**benchmark.methods[sweep.method], **raw}, where)
        except ConfigError:
            continue  # invalid parameters of the method itself are reported by another check
        problems |= dict.fromkeys(_vary_errors(spec, sweep, where))
    yield from problems


def support_size_errors(benchmark: BenchmarkConfig) -> Iterator[Problem]:
    """Yield the errors of `support_size:`."""
    if (given := benchmark.support_size) is None:
        return
    yield from _cell_errors(benchmark, given.cells, ("support_size",))
    where = ("support_size", "method")
    if given.method not in benchmark.methods:
        yield where, unknown_name("method", given.method, benchmark.methods)
    elif (uses := benchmark.methods[given.method].get("uses", given.method)) != TAUGHT:
        yield where, f"'{given.method}' is {uses}, which has no teacher; only {TAUGHT} has"


def _cell_errors(
    benchmark: BenchmarkConfig, listed: list[str] | None, where: Place
) -> Iterator[Problem]:
    """Check the names under `cells` of the entry at `where`."""
    cells, rounds = list_cells(benchmark), streams(benchmark)
    if listed is None and rounds:
        yield where, f"not in a cell with `rounds`, as {rounds[0]}; list other cells under `cells`"
    for index, cell in enumerate(listed or ()):
        if cell in rounds or (cell in cells and cells[cell].entry in rounds):
            yield (*where, "cells", index), f"{quoted(cell)}: not in a cell with `rounds`"
        elif cell not in cells:
            yield (*where, "cells", index), unknown_name("cell", cell, cells)


def _vary_errors(spec: MethodSpec, sweep: SweepConfig, where: Place) -> Iterator[Problem]:
    """Check that every value is valid and gives the run a distinct name."""
    key = next(iter(sweep.vary))
    named: dict[str, Any] = {}
    for given in sweep.combinations():
        problems = list(_value_errors(spec, given, sweep, where))
        yield from problems
        if not given.keys() <= params_class(spec.uses).model_fields.keys():
            return  # if a parameter does not exist, one message is enough for all its values
        if problems:
            continue
        exact = spec.values(given)
        for name, value in given.items():
            text, part = format_value(exact[name]), "vary" if name == key else "along"
            if not is_slug(text.lstrip("-")):
                yield (*where, part, name), f"{value!r}: not usable in a file's name as '{text}'"
        run = "@".join(format_varied({name: exact[name] for name in given}))
        if len(f"{spec.name}@{run}") > LONGEST_RUN:
            yield where, f"run {quoted(run)}: more than {LONGEST_RUN} letters for a folder"
        if run in named:
            text = f"{named[run]!r} and {given[key]!r} make one run's name"
            yield (*where, "vary", key), text
        named[run] = given[key]


def _value_errors(
    spec: MethodSpec, values: Mapping[str, Any], sweep: SweepConfig, where: Place
) -> Iterator[Problem]:
    """Check `along` before `vary`, so that each message names the key that is wrong."""
    along = {name: value for name, value in values.items() if name in sweep.along}
    trials = spec.trials()
    for given, part in ((along, "along"), (values, "vary")):
        # Tuning may choose any trial; an error that all trials share is reported once.
        checks = (partial(validate, spec, {**trial, **given}, (*where, part)) for trial in trials)
        if problems := dict.fromkeys(one for check in checks for one in collect_errors(check)):
            yield from problems
            return

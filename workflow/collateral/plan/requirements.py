"""Minimum number of retained examples that each key of the config requires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from collateral.config.errors import Place, format_key
from collateral.plan.grid import Benchmark, Cell, RunSpec


def required_retained(benchmark: Benchmark, cell: Cell) -> dict[str, int]:
    """Return the number that each key of the config requires of a cell; defaults require none."""
    return _most(benchmark, _asked(benchmark, cell))


def required_of_shadows(benchmark: Benchmark, cell: Cell) -> dict[str, int]:
    """Return the same for runs that unlearn from shadow models, which retain a share."""
    return _most(benchmark, _of_runs(benchmark, cell, cell.exposed))


def _most(benchmark: Benchmark, places: Iterable[tuple[Place, int]]) -> dict[str, int]:
    asked: dict[str, int] = {}
    for place, count in places:
        key = format_key(("benchmarks", benchmark.name, *place))
        asked[key] = max(count, asked.get(key, 0))
    return asked


def _asked(benchmark: Benchmark, cell: Cell) -> Iterator[tuple[Place, int]]:
    sizes = benchmark.config.support_size
    if cell.support_sized and sizes:
        yield ("support_size", "k"), sizes.k[1]  # larger sizes are skipped, as long as two remain
    yield from _of_runs(benchmark, cell, cell.runs.values())


def _of_runs(
    benchmark: Benchmark, cell: Cell, runs: Iterable[RunSpec]
) -> Iterator[tuple[Place, int]]:
    for run in runs:
        for params in run.choices:
            for name, count in params.asked_of_retained().items():
                if name in params.model_fields_set:
                    yield _place(benchmark, cell, run, name), count


def _place(benchmark: Benchmark, cell: Cell, run: RunSpec, name: str) -> Place:
    """Return the place in the config that gives a parameter of a run."""
    method, cells = run.method.name, benchmark.config.cells
    if name in run.vary:
        sweep = next(key for key, found in cell.sweeps.items() if run.name in found.values)
        part = "vary" if name == cell.sweeps[sweep].key else "along"
        return "sweeps", sweep, part, name
    if cell.name in cells and name in cells[cell.name].methods.get(method, {}):
        return "cells", cell.name, "methods", method, name
    return "methods", method, name

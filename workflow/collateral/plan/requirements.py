"""Minimum number of retained examples required by each config key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from collateral.config.cells import cell_methods
from collateral.config.errors import Place, format_key
from collateral.plan.grid import Benchmark, Cell, RunSpec


def required_retained(benchmark: Benchmark, cell: Cell) -> dict[str, int]:
    """Return the number of retained examples that each config key requires in a cell."""
    return _most(benchmark, _all_requirements(benchmark, cell))


def required_on_shadows(benchmark: Benchmark, cell: Cell) -> dict[str, int]:
    """Return the numbers that runs on shadow models require, which retain only a share."""
    return _most(benchmark, _run_requirements(benchmark, cell, cell.exposed))


def _most(benchmark: Benchmark, places: Iterable[tuple[Place, int]]) -> dict[str, int]:
    required: dict[str, int] = {}
    for place, count in places:
        key = format_key(("benchmarks", benchmark.name, *place))
        required[key] = max(count, required.get(key, 0))
    return required


def _all_requirements(benchmark: Benchmark, cell: Cell) -> Iterator[tuple[Place, int]]:
    sizes = benchmark.config.support_size
    if cell.support_sized and sizes:
        # Larger support sizes are skipped, if at least two sizes remain.
        yield ("support_size", "k"), sizes.k[1]
    yield from _run_requirements(benchmark, cell, cell.runs.values())


def _run_requirements(
    benchmark: Benchmark, cell: Cell, runs: Iterable[RunSpec]
) -> Iterator[tuple[Place, int]]:
    for run in runs:
        for params in run.choices:
            for name, count in params.required_retained().items():
                if name in params.model_fields_set:
                    yield _place(benchmark, cell, run, name), count


def _place(benchmark: Benchmark, cell: Cell, run: RunSpec, name: str) -> Place:
    """Return the config key that sets a parameter of a run."""
    method, entry = run.method.name, cell.forget.entry
    if name in run.vary:
        sweep = next(key for key, found in cell.sweeps.items() if run.name in found.values)
        part = "vary" if name == cell.sweeps[sweep].key else "along"
        return "sweeps", sweep, part, name
    if name in cell_methods(benchmark.config, cell.forget).get(method, {}):
        return "cells", entry, "methods", method, name
    return "methods", method, name

"""Kinds of jobs, one file each; a file declares everything that the workflow needs to know.

Missing files, differences from the plan, preflight checks, the estimate and the rules all use this
one list. Files whose names begin with `_` are helpers.
"""

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from collateral.jobs._job import CellJob, Job
from collateral.plan.grid import Benchmark, Cell

NUMBERS = ("seed", "member")  # names of the wildcards that are integers


@cache
def kinds() -> dict[str, type[Job]]:
    """Return a dict from name to job class; each class comes after those it depends on.

    The name of a kind is the name of its file, and of its rule.
    """
    names = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))
    found = {name: _job_class(import_module(f"{__name__}.{name}")) for name in names}
    order = TopologicalSorter({name: kind.needs for name, kind in found.items()})
    return {name: found[name] for name in order.static_order()}


def _job_class(module: ModuleType) -> type[Job]:
    classes = (value for value in vars(module).values() if isinstance(value, type))
    return next(c for c in classes if issubclass(c, Job) and c.__module__ == module.__name__)


def list_jobs(benchmark: Benchmark) -> Iterator[Job]:
    """Yield all jobs of a benchmark except those that make tables, figures and pages."""
    return (job for kind in kinds().values() for job in kind.list_all(benchmark))


def list_cell_jobs(benchmark: Benchmark, cell: Cell) -> Iterator[CellJob]:
    """Yield the jobs of one cell."""
    for kind in kinds().values():
        if issubclass(kind, CellJob):
            yield from kind.list_in_cell(benchmark, cell)


def find_job(kind: str, benchmark: Benchmark, wildcards: Any) -> Job:
    """Return the job of a rule for these values of Snakemake's wildcards."""
    names = _wildcard_names(kind)
    return _find_job(kind, benchmark, *(getattr(wildcards, name) for name in names))


# Jobs are cached, because Snakemake asks for each of their inputs and parameters.
@cache
def _find_job(kind: str, benchmark: Benchmark, *values: str) -> Job:
    converted: list[Any] = []
    for name, value in zip(_wildcard_names(kind), values, strict=True):
        number = int(value) if name in NUMBERS else value
        converted.append(benchmark.cells[value] if name == "cell" else number)
    return kinds()[kind](benchmark, *converted)


@cache
def _wildcard_names(kind: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kinds()[kind]) if field.name != "benchmark")

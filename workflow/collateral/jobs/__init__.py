"""Kinds of jobs. Each file declares one kind, with all that the workflow must know about it.

Missing files, differences from the plan, preflight checks, the estimate and the rules all use this
one list of kinds. Files whose names begin with `_` are helpers.

- The rule has the name of the file. So has the stage, unless the class sets `stage` (`base` and
  `retrain` use `train`). A class may override `rule`: tracked runs have the rule `track`. The first
  job class in the file is used.
- The annotated attributes of a job class are the wildcards of the rule; each is in
  `wildcard_constraints` of rules/lookup.smk, and one that is an integer in NUMBERS.
- A job of a cell names in `cell_attribute` which cells or runs have such a job: one job for each
  value of its wildcards `seed`, `run` and `method`. Other kinds override `list_all`.
"""

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from collateral.jobs._job import CellJob, Job
from collateral.plan.grid import Benchmark, Cell

NUMBERS = ("seed", "member")  # names of the wildcards that are integers


@cache
def kinds() -> dict[str, type[Job]]:
    """Return a dict from name to job class; the job's file and rule have the same name."""
    names = sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py"))
    return {name: _job_class(import_module(f"{__name__}.{name}")) for name in names}


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
    job = kinds()[kind]
    names = [field.name for field in fields(job)][1:]
    return job(benchmark, *(_read(benchmark, name, getattr(wildcards, name)) for name in names))


def _read(benchmark: Benchmark, name: str, value: str) -> Any:
    """Convert the text of the wildcard `name` to the value of the job's field `name`."""
    if name == "cell":
        return benchmark.cells[value]
    return int(value) if name in NUMBERS else value

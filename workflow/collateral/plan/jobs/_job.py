"""A job of a benchmark, and a job of one of its cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from collateral.contract.work import NO_WORK, Work
from collateral.plan import paths
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.weights_fit import OwnFile
from collateral.plan.work import Workload, workload_of
from collateral.results import layout

Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A job of a benchmark. Its fields are the wildcards of its rule."""

    needs: ClassVar[tuple[str, ...]] = ()  # the kinds of jobs whose files it reads
    folder: ClassVar[str]  # the pattern of the folder that it writes to
    record_file: ClassVar[str] = layout.RECORD  # in the folder; "" if the job has no record
    evaluated: ClassVar[str] = ""  # the file in the folder that the metrics of a cell wait for
    remedy: ClassVar[str] = ""  # what `make run` does where one of its files is missing

    benchmark: Benchmark

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield all jobs of this kind."""
        yield cls(benchmark)

    @cached_property
    def wildcards(self) -> dict[str, str | int]:
        """The values of the wildcards by name."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: getattr(value, "name", value) for name, value in values}

    def path(self, pattern: str, **wildcards: Any) -> str:
        """Return a file of this job's benchmark and cell; other wildcards may be given."""
        return pattern.format(**{**self.wildcards, **wildcards})

    @property
    def rule(self) -> str:
        """The name of the rule that runs it."""
        return type(self).__module__.rpartition(".")[2]

    @cached_property
    def out(self) -> str:
        """The folder that it writes to."""
        return self.path(self.folder)

    @property
    def files(self) -> tuple[str, ...]:
        """The files in its folder that tables, figures and pages are made from."""
        return ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The input files of a job that trains no model; empty for a job that trains one."""
        return ()

    @property
    def record_name(self) -> str:
        """The path of its record below the benchmark's folder."""
        return self.below(f"{self.out}/{self.record_file}")

    def record(self, found: Record, folder: Path) -> Record:
        """Return the record that the job would write now, as far as the plan tells.

        `found` is the record in the results; values that the plan does not know are taken from it.
        """
        raise NotImplementedError

    def below(self, file: str) -> str:
        """Return the path of a file below the benchmark's folder."""
        return file.removeprefix(f"{paths.RESULTS}/{self.benchmark.name}/")

    def record_inputs(self, *files: str) -> list[str]:
        """Return inputs as a record lists them; every job that has a record of them reads data."""
        return sorted({layout.DATA, *map(self.below, files)})

    @property
    def will_run(self) -> bool:
        """Tell whether the file is missing that the metrics wait for."""
        return bool(self.evaluated) and not Path(f"{self.out}/{self.evaluated}").exists()

    @property
    def own_files(self) -> list[OwnFile]:
        """The user's files of weights that it reads."""
        return []

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.benchmark.config.model

    @property
    def workload(self) -> Workload:
        """The sizes that work and disk space depend on."""
        return workload_of(self.benchmark)

    @property
    def work(self) -> Work:
        """The images that its models train on or evaluate."""
        return NO_WORK

    @property
    def seconds(self) -> float:
        """CPU seconds of a job without a model, measured on an AMD EPYC: most are imports."""
        return 0.0

    @property
    def bytes(self) -> float:
        """The disk space of its files."""
        return 0.0


@dataclass(frozen=True)
class CellJob(Job):
    """A job of a cell."""

    cell: Cell

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield all jobs of this kind."""
        for cell in benchmark.cells.values():
            yield from cls.list_in_cell(benchmark, cell)

    @classmethod
    def list_in_cell(cls, benchmark: Benchmark, cell: Cell) -> Iterator[Self]:
        """Yield the jobs of this kind in a cell."""
        yield cls(benchmark, cell)

    @property
    def split(self) -> str:
        """The file of the forget set."""
        return self.path(paths.SPLIT)


def as_json(value: Any) -> str:
    """Write a value for a command line."""
    return json.dumps(value, sort_keys=True)


def existing(files: Iterable[Path]) -> list[str]:
    """Return those of a user's files that exist: with results in the cache they are not needed."""
    return [str(path) for file in files if (path := file.expanduser()).exists()]

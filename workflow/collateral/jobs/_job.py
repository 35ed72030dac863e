"""Base classes: the description of a job, and a job of the plan, which has such a description.

A description is everything that identifies a job: the plan makes it from the config, Snakemake
compares it, the stage reads it, and the record keeps it. Its fields are plain values.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

from pydantic import BaseModel, ConfigDict, Field

from collateral.contract.work import FLOAT32, NO_WORK, Work
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.report_plan import presenting_code
from collateral.plan.work import Workload, find_workload
from collateral.plugins.find import MODEL
from collateral.results import layout
from collateral.results.verification import DISPENSABLE

# Input files by name: a path below the benchmark's folder, or a list of paths.
Inputs = dict[str, str | list[str]]


class Part(BaseModel):
    """A part of a job description, with plain values only: a frozen pydantic class."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self) -> dict[str, Any]:
        """Return those fields, as JSON types, that do not have their default."""
        found, defaults = self.model_dump(mode="json"), _defaults(type(self))
        for name, default in defaults.items():
            if (value := getattr(self, name)) == default:
                del found[name]
            elif isinstance(value, Part):
                found[name] = value.changed()
        return found


@cache
def _defaults(part: type[Part]) -> dict[str, Any]:
    """Return a dict from name to default of each field; a field without one has a marker."""
    fields = part.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields}


class Job(Part):
    """Description of a job; all paths are relative to the benchmark's folder."""

    folder: ClassVar[str] = ""  # pattern of the output folder
    stage: ClassVar[str] = ""  # name of the stage; empty if the kind of job has the same name
    # Names of fields and inputs in which a finished job may differ from the plan.
    uncompared: ClassVar[frozenset[str]] = frozenset()
    has_cost: ClassVar[bool] = True  # whether the job writes its time and memory to cost.json

    benchmark: str

    @property
    def kind(self) -> str:
        """Name of the kind of job: the name of its file."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def inputs(self) -> Inputs:
        """Input files by name; the record has the hash of each."""
        return {}

    @property
    def input_files(self) -> list[str]:
        """All input files, each once."""
        values = self.inputs.values()
        lists = [[value] if isinstance(value, str) else value for value in values]
        return list(dict.fromkeys(file for files in lists for file in files))

    @property
    def files(self) -> dict[str, str]:
        """Output files, or output folders, by name; without records and cost."""
        return {}

    @property
    def records(self) -> dict[str, list[str]]:
        """Dict from path of each record to the output files that it lists."""
        found: dict[str, list[str]] = {}
        for file in map(Path, self.files.values()):
            # The record of a folder is in the folder.
            record = layout.record_path(file) if file.suffix else file / layout.RECORD
            found.setdefault(record.as_posix(), []).append(file.as_posix())
        return found

    @property
    def written(self) -> list[str]:
        """All files that the job writes: outputs, records and cost."""
        cost = [f"{self.out}/{layout.COST}"] if self.has_cost else []
        return [*self.files.values(), *self.records, *cost]

    def is_input_of(self, file: str, record: str) -> bool:
        """Tell whether a record lists the hash of an input file; mostly, it lists all inputs."""
        return True

    @property
    def out(self) -> str:
        """Output folder of the job."""
        return self.path(self.folder)

    def path(self, pattern: str, **values: Any) -> str:
        """Fill a path pattern with the fields of the job, or with the values that are passed."""
        return pattern.format(**{**self.__dict__, **values})

    def in_folder(self, **names: str) -> dict[str, str]:
        """Return a dict from name to path of files in the output folder."""
        return {key: f"{self.out}/{name}" for key, name in names.items()}

    def content(self) -> dict[str, Any]:
        """Return the description as JSON types."""
        return {"kind": self.kind, **self.model_dump(mode="json")}

    def text(self) -> str:
        """Return the description as JSON: the kind first, then fields in alphabetical order.

        A field that has its default is left out, so that a new field with a default does not make
        finished jobs again. Therefore, the default of a field must never change.
        """
        fields = json.dumps(self.changed(), sort_keys=True)
        return f'{{"kind": "{self.kind}"{", " if fields != "{}" else ""}{fields[1:]}'


class PageJob(Job):
    """Description of a job that makes tables, figures or a page of a benchmark from its numbers.

    Tables and figures are in a folder of the name of their kind.
    """

    has_cost = False

    @property
    def inputs(self) -> Inputs:
        """The plan, the numbers and the outcomes of sanity checks."""
        return {
            **{"plan": layout.PLAN, "metrics": layout.METRICS, "costs": layout.COSTS},
            "gates": layout.GATES,
        }

    @property
    def files(self) -> dict[str, str]:
        """The folder of the tables, or of the figures."""
        return {self.kind: self.kind}


class OwnFile(Part):
    """A user's file of weights: its config key, its content, and the renaming of its parameters.

    Its name and folder are told beside the description: moving the file makes nothing again.
    """

    key: str  # key of the file in the benchmark's config
    sha256: str  # hash of the content; empty if the file was never there
    rename: dict[str, str] = Field(default_factory=dict)
    rte: float | None = None  # seconds that unlearning took, if the user states them


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Planned:
    """A job of the plan; its fields are the wildcards of its Snakemake rule.

    Every subclass is a frozen dataclass, too.
    """

    describes: ClassVar[type[Job]]  # class of the description
    evaluated: ClassVar[str] = ""  # name of the output file that the metrics of a cell wait for
    uses_model: ClassVar[bool] = False  # whether the stage trains or evaluates a model
    is_presented: ClassVar[bool] = True  # whether pages are made from the job's files
    is_compared: ClassVar[bool] = True  # whether its records are compared with the plan

    benchmark: Benchmark

    if TYPE_CHECKING:

        @property
        def seed(self) -> int:
            """Seed of the model and of all random choices, for a job with a model."""

    def __init_subclass__(cls) -> None:
        """Make a subclass a frozen dataclass."""
        dataclass(frozen=True)(cls)

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield all jobs of this kind in a benchmark."""
        yield cls(benchmark)

    @cached_property
    def wildcards(self) -> dict[str, str | int]:
        """Dict from name to value of each Snakemake wildcard."""
        values = ((one.name, getattr(self, one.name)) for one in fields(self))
        return {name: getattr(value, "name", value) for name, value in values}

    @cached_property
    def job(self) -> Job:
        """Description of the job."""
        return self.describes.model_validate({**self.wildcards, **self.values})

    @property
    def values(self) -> Mapping[str, Any]:
        """Fields of the description besides the wildcards."""
        return {}

    @cached_property
    def text(self) -> str:
        """Description of the job as JSON."""
        return self.job.text()

    def path(self, pattern: str, **wildcards: Any) -> str:
        """Fill a path pattern with the job's wildcards, or with the values that are passed here."""
        return pattern.format(**{**self.wildcards, **wildcards})

    @property
    def kind_name(self) -> str:
        """Name of the kind of job: the name of its file and, mostly, of its rule and stage."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def rule(self) -> str:
        """Name of the Snakemake rule that runs the job."""
        return self.kind_name

    @property
    def root(self) -> str:
        """Folder of the benchmark."""
        return self.path(paths.BENCHMARK)

    @cached_property
    def out(self) -> str:
        """Output folder of the job."""
        return f"{self.root}/{self.job.out}".rstrip("/")

    @property
    def inputs(self) -> dict[str, str | list[str]]:
        """Inputs of the rule: those of the description, and files of the user."""
        root = self.root
        found: dict[str, str | list[str]] = {
            name: f"{root}/{value}" if isinstance(value, str) else [f"{root}/{v}" for v in value]
            for name, value in self.job.inputs.items()
        }
        return found | ({"user": self.user_files} if self.user_files else {})

    @property
    def user_files(self) -> list[str]:
        """Existing files of the user that the job reads."""
        return []

    @property
    def beside(self) -> dict[str, Any]:
        """What the stage is told beside the description; changing it reruns nothing."""
        return {}

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the output files from which tables, figures and pages are made."""
        written = self.job.written if self.is_presented else []
        return tuple(f"{self.root}/{f}" for f in written if Path(f).name not in DISPENSABLE)

    @property
    def record_names(self) -> list[str]:
        """Paths of the records that are compared with the plan; none if the job is not compared."""
        return [*self.job.records] if self.is_compared else []

    def user_hashes(self, found: Mapping[str, Any]) -> dict[str, str | None]:
        """Return the hashes of the user's files now, by their place in the record `found`.

        A file that was deleted is not compared.
        """
        return {}

    @property
    def will_run(self) -> bool:
        """Tell whether the job will run, because the file that the metrics wait for is missing."""
        return bool(self.evaluated) and not Path(f"{self.out}/{self.evaluated}").exists()

    @property
    def code(self) -> str:
        """Fingerprint of the stage and, if the job uses a model, of the model's file."""
        models = [MODEL.module(self.model)] if self.uses_model else []
        return stage_code(self.describes.stage or self.kind_name, *models)

    @property
    def own_file(self) -> tuple[OwnFile, Path] | None:
        """User's file of weights that the job reads, with its path, if there is one."""
        return None

    @property
    def model(self) -> str:
        """Name of the benchmark's model."""
        return self.benchmark.config.model

    @property
    def workload(self) -> Workload:
        """Sizes of data and model that determine the amount of computation and the disk space."""
        return find_workload(self.benchmark)

    @property
    def work(self) -> Work:
        """Estimated amount of computation: the number of images that each model trains on."""
        return NO_WORK

    @property
    def prepared_numbers(self) -> int:
        """Number of float32 values in the largest result of a `prepare` that the job has."""
        return 0

    @property
    def precision(self) -> str:
        """Precision in which the benchmark's model is trained in this job."""
        return FLOAT32

    @property
    def seconds(self) -> float:
        """CPU seconds of a job without a model, mostly for imports, measured on an AMD EPYC."""
        return 0.0

    @property
    def bytes(self) -> float:
        """Disk space of the output files, in bytes."""
        return 0.0


class PlannedInCell(Planned):
    """A job that belongs to one cell."""

    # Name of an attribute of Cell. If it is false or empty, the cell has no job of this kind.
    # For a job with the wildcard `run` or `method`, it lists the runs; without name, no condition.
    cell_attribute: ClassVar[str] = ""

    cell: Cell

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield all jobs of this kind in all cells of a benchmark."""
        for cell in benchmark.cells.values():
            yield from cls.list_in_cell(benchmark, cell)

    @classmethod
    def list_in_cell(cls, benchmark: Benchmark, cell: Cell) -> Iterator[Self]:
        """Yield all jobs of this kind in one cell: one per seed and per run that has one."""
        runs = getattr(cell, cls.cell_attribute) if cls.cell_attribute else (cell.name,)
        values = {"seed": benchmark.seeds, "run": runs, "method": runs}
        domains = [values[one.name] for one in fields(cls) if one.name in values]
        jobs = (cls(benchmark, cell, *chosen) for chosen in product(*domains) if runs)
        return (job for job in jobs if job.is_planned)

    @property
    def is_planned(self) -> bool:
        """Whether the cell has this job for these values of the wildcards."""
        return True


class PlannedPage(Planned):
    """A job that makes tables, figures or a page of a benchmark from its numbers, in seconds."""

    is_presented = is_compared = False

    @property
    def values(self) -> dict[str, Any]:
        """The cells of the benchmark, if the description has them."""
        has_cells = "cells" in self.describes.model_fields
        return {"cells": tuple(self.benchmark.cells)} if has_cells else {}

    @property
    def code(self) -> str:
        """Fingerprint of the stage and of all findings."""
        return presenting_code(self.kind_name)

"""Base classes of jobs: a job of a benchmark, and a job of one of its cells."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, dataclass_transform

from collateral.contract.work import FLOAT32, NO_WORK, Work
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.work import Workload, find_workload
from collateral.plugins.find import MODEL
from collateral.results import layout
from collateral.results.provenance import INPUTS, content_hash

Record = dict[str, Any]


@dataclass(frozen=True)
class OwnFile:
    """A user's file of weights, its config key, and the renaming of its parameters."""

    key: str  # key of the file in the benchmark's config
    file: Path
    rename: Mapping[str, str] = field(default_factory=dict, hash=False)
    rte: float | None = None  # seconds that unlearning took, if the user states them

    def arguments(self, option: str) -> list[str]:
        """Return command-line options: `option` with the path; `--rename` and `--rte` if set."""
        renamed = ["--rename", as_json(self.rename)] if self.rename else []
        stated = [] if self.rte is None else ["--rte", str(self.rte)]
        return [option, str(self.file.expanduser()), *renamed, *stated]

    def record(self, found: Record | None) -> Record:
        """Return the file's entry for a record; a deleted file has the hash of its old entry."""
        path = self.file.expanduser()
        digest = content_hash(path) if path.exists() else (found or {}).get("hash")
        return {"name": self.file.name, "hash": digest, "rename": self.rename}


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Job:
    """A job of a benchmark; its fields are the wildcards of its Snakemake rule.

    Every subclass is a frozen dataclass, too.
    """

    folder: ClassVar[str]  # pattern of the output folder
    # Name of the record in the output folder; empty if the job has no record.
    record_file: ClassVar[str] = layout.RECORD
    evaluated: ClassVar[str] = ""  # name of the output file that the metrics of a cell wait for
    uses_model: ClassVar[bool] = False  # whether the stage trains or evaluates a model
    stage: ClassVar[str] = ""  # name of the stage; empty if the kind of job has the same name

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

    @cached_property
    def out(self) -> str:
        """Output folder of the job."""
        return self.path(self.folder)

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the output files from which tables, figures and pages are made."""
        return ()

    @property
    def record_name(self) -> str:
        """Path of the job's record, relative to the benchmark's folder."""
        return self.below(f"{self.out}/{self.record_file}")

    def record(self, found: Record, folder: Path) -> Record:
        """Return the record that the job would write if it ran now.

        `found` is the record in the results; values that the plan does not know are taken from it.
        """
        raise NotImplementedError

    def model_record(self, *files: str) -> Record:
        """Return the record entries that all jobs with a model share; `files` are input files."""
        inputs = self.record_inputs(*files)
        return {"model": self.model, "code": self.code, "seed": self.seed, INPUTS: inputs}

    def below(self, file: str) -> str:
        """Return the path of a file, relative to the benchmark's folder."""
        return file.removeprefix(f"{paths.RESULTS}/{self.benchmark.name}/")

    def record_inputs(self, *files: str) -> list[str]:
        """Return the list of inputs for a record; it always includes the data set."""
        return sorted({layout.DATA, *map(self.below, files)})

    @property
    def will_run(self) -> bool:
        """Tell whether the job will run, because the file that the metrics wait for is missing."""
        return bool(self.evaluated) and not Path(f"{self.out}/{self.evaluated}").exists()

    @property
    def code(self) -> str:
        """Fingerprint of the stage and, if the job uses a model, of the model's file."""
        models = [MODEL.module(self.model)] if self.uses_model else []
        return stage_code(self.stage or self.kind_name, *models)

    @property
    def own_file(self) -> OwnFile | None:
        """User's file of weights that the job reads, if there is one."""
        return None

    @property
    def arguments(self) -> list[str]:
        """Options that describe the job on the command line of its stage."""
        return []

    @property
    def options(self) -> str:
        """Command-line options in `arguments` as one text, for the rule's shell command."""
        return shlex.join(self.arguments)

    def base_file(self, name: str, seed: int) -> str:
        """Return the path of the file `name` of the base model from which runs of `seed` start."""
        return f"{self.path(paths.BASE, seed=self.benchmark.base_seed(seed))}/{name}"

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


class CellJob(Job):
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
        return (cls(benchmark, cell, *chosen) for chosen in product(*domains) if runs)

    @property
    def split(self) -> str:
        """Path of the file that contains the forget set."""
        return self.path(paths.SPLIT)


def as_json(value: Any) -> str:
    """Format a value as JSON for a command line."""
    return json.dumps(value, sort_keys=True)


def existing(file: Path) -> list[str]:
    """Return a list with the path of the user's file, or an empty list if it does not exist."""
    path = file.expanduser()
    return [str(path)] if path.exists() else []

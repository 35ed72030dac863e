"""What jobs need and are told, by the grid alone: of data, forget sets, training from scratch."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from collateral.config.errors import ConfigError
from collateral.config.weights import CELL, SEED, GivenParams, RetrainParams
from collateral.contract.params import TrainingParams
from collateral.contract.plugins import DATA, FORGET, MODEL
from collateral.contract.spelling import looked_for
from collateral.contract.work import Work
from collateral.data._facts import STATE, inputs_of, state_of
from collateral.plan import paths
from collateral.plan.asked import asked_of_retained
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.workload import SizeUnknownError, data_options, workload_of
from collateral.results.files import Unsound, read_json

# Of forget sets on a command line, which is one argument of a shell: Linux allows it 131,072. All
# others are looked at by their own jobs, and no base model depends on them.
MOST_BYTES = 50_000


@dataclass(frozen=True)
class BenchmarkJob:
    """A job of a benchmark."""

    benchmark: Benchmark

    def path(self, pattern: str, **wildcards: Any) -> str:
        """Return a file of this benchmark."""
        return pattern.format(benchmark=self.benchmark.name, **wildcards)

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.benchmark.config.model

    @property
    def training(self) -> str:
        """How base and retrained models are trained, as JSON."""
        base = self.benchmark.config.base
        return base.model_dump_json(include={*TrainingParams.model_fields})

    @property
    def start(self) -> str:
        """Options with the weights that training starts from; none where from scratch."""
        init = self.benchmark.config.init
        return weights_options("--init", init.weights, init.rename) if init else ""

    @property
    def start_files(self) -> list[str]:
        """The same file as an input; one that is missing is named before any job."""
        init = self.benchmark.config.init
        return existing([init.weights]) if init else []

    @property
    def training_code(self) -> str:
        """The code that trains them."""
        return stage_code("train", MODEL.module(self.model))


class DataJob(BenchmarkJob):
    """A data set."""

    @property
    def name(self) -> str:
        """The name of the data set."""
        return str(self.benchmark.config.data["name"])

    @property
    def options(self) -> str:
        """Its options, as JSON."""
        return as_json(self.benchmark.config.data_options)

    @property
    def forget(self) -> str:
        """The forget sets that the job looks at before anything is trained: as many as fit."""
        sets = [as_json(self._forget(cell)) for cell in self.benchmark.cells.values()]
        lengths = accumulate(map(len, sets))
        fitting = [one for one, length in zip(sets, lengths, strict=True) if length <= MOST_BYTES]
        return shlex.join(["--forget", *fitting])

    @property
    def files(self) -> list[str]:
        """The user's own files; one that is missing is the job's to name."""
        return [str(file) for file in inputs_of(self.name, data_options(self.benchmark))]

    def _forget(self, cell: Cell) -> dict[str, Any]:
        """Return a forget set, and what it must leave where only the data can tell if it does."""
        told = {"cell": cell.name, "kind": cell.forget.kind, "params": cell.forget.params}
        try:
            workload_of(self.benchmark).sizes(cell)
        except SizeUnknownError:
            told |= {"asked": asked_of_retained(self.benchmark, cell)}
        return told

    @property
    def code(self) -> str:
        """The code that reads it, and what files there are where these are no inputs."""
        code = stage_code("data", DATA.module(self.name))
        return " ".join(filter(None, (code, self._state)))

    @property
    def _state(self) -> str:
        """A hash of the user's files; where they stayed behind, that of when they were read."""
        state = state_of(self.name, data_options(self.benchmark))
        try:
            return state or str(read_json(Path(self.path(paths.DATA_RECORD))).get(STATE, ""))
        except Unsound:
            return ""


class BaseJob(BenchmarkJob):
    """A model trained on everything, or the user's own."""

    @property
    def training(self) -> str:
        """How it is trained; where it is the user's own, nobody here knows."""
        return super().training if self.benchmark.config.base.weights is None else "{}"

    def start_of(self, seed: int) -> str:
        """Return options with the weights that it has, or starts from."""
        if (file := self.weights_of(seed)) is None:
            return self.start
        return weights_options("--weights", file, self.benchmark.config.base.rename)

    def files_of(self, seed: int) -> list[str]:
        """Return the same file as an input."""
        file = self.weights_of(seed)
        return self.start_files if file is None else existing([file])

    def weights_of(self, seed: int) -> Path | None:
        """Return the user's own file of a seed."""
        file = self.benchmark.config.base.weights
        return None if file is None else Path(str(file).replace(SEED, str(seed)))

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).base()


@dataclass(frozen=True)
class CellJob(BenchmarkJob):
    """A job of a cell."""

    cell: Cell

    def path(self, pattern: str, **wildcards: Any) -> str:
        """Return a file of this cell."""
        return super().path(pattern, cell=self.cell.name, **wildcards)


class SplitJob(CellJob):
    """The forget set of a cell."""

    @property
    def kind(self) -> str:
        """The kind of forget set."""
        return self.cell.forget.kind

    @property
    def options(self) -> str:
        """Its parameters, as JSON."""
        return as_json(self.cell.forget.params)

    @property
    def files(self) -> list[str]:
        """The user's own file; one that is missing is named before any job."""
        path = self.cell.forget.params.get("path")
        if path is None:
            return []
        file = Path(path).expanduser()
        if not file.exists() and not Path(self.path(paths.SPLIT)).exists():
            key = f"benchmarks.{self.benchmark.name}.cells.{self.cell.name}.forget.path"
            said = f"{key}: {str(path)!r}: there is no such file{looked_for(file)}"
            raise ConfigError([said])
        return [str(file)] if file.exists() else []  # figures come from the cache, without it

    @property
    def code(self) -> str:
        """The code that chooses it."""
        return stage_code("split", FORGET.module(self.kind))


class RetrainJob(CellJob):
    """A model trained without the forget set, or the user's own."""

    @property
    def training(self) -> str:
        """How it is trained; where it is the user's own, nobody here knows."""
        retrain = self.benchmark.config.retrain
        return "{}" if retrain and retrain.weights else super().training

    def start_of(self, seed: int) -> str:
        """Return options with the weights that it has, or starts from."""
        retrain, file = self.benchmark.config.retrain, self.weights_of(seed)
        return self.start if retrain is None or file is None else own_options(file, retrain)

    def files_of(self, seed: int) -> list[str]:
        """Return the same file as an input."""
        file = self.weights_of(seed)
        return self.start_files if file is None else existing([file])

    def weights_of(self, seed: int) -> Path | None:
        """Return the user's own file of a seed."""
        retrain = self.benchmark.config.retrain
        if retrain is None or retrain.weights is None:
            return None
        return file_of(retrain.weights, self.cell, seed)

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).retrain(self.cell)


@dataclass(frozen=True)
class GivenJob(CellJob):
    """Weights that somebody else unlearned."""

    run: str

    @property
    def given(self) -> GivenParams:
        """What the config says of them."""
        return self.cell.given[self.run]

    def options_of(self, seed: int) -> str:
        """Return the run's name, its file, and what it is said to have taken."""
        file = own_options(self.weights_of(seed), self.given)
        return f"{shlex.join(['--run', self.run])} {file}"

    def files_of(self, seed: int) -> list[str]:
        """Return the file of a seed as an input."""
        return existing([self.weights_of(seed)])

    def weights_of(self, seed: int) -> Path:
        """Return the file of a seed."""
        return file_of(self.given.weights, self.cell, seed)

    @property
    def code(self) -> str:
        """The code that looks at them."""
        return stage_code("given", MODEL.module(self.model))

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).given()


def file_of(pattern: Path, cell: Cell, seed: int) -> Path:
    """Return a user's file of a cell and a seed."""
    return Path(str(pattern).replace(CELL, cell.name).replace(SEED, str(seed)))


def own_options(file: Path, own: GivenParams | RetrainParams) -> str:
    """Return options with a user's file, how to read its names, and the seconds that it took."""
    stated = [] if own.rte is None else ["--rte", str(own.rte)]
    return " ".join([weights_options("--weights", file, own.rename), *stated])


def weights_options(option: str, file: Path, rename: Mapping[str, str]) -> str:
    """Return options of a training job: a user's file of weights, and how to read its names."""
    renamed = ["--rename", as_json(rename)] if rename else []
    return shlex.join([option, str(file.expanduser()), *renamed])


def existing(files: Iterable[Path]) -> list[str]:
    """Return those of a user's files that are there: from the cache, figures come without."""
    return [str(path) for file in files if (path := file.expanduser()).exists()]


def as_json(value: Any) -> str:
    """Write a value for a command line."""
    return json.dumps(value, sort_keys=True)

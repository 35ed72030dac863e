"""Jobs that train a model with the settings of `base:`, or read a user's weights."""

from pathlib import Path
from typing import Any

from collateral.config.weights import CELL, SEED, BaseParams, GivenParams, InitParams, RetrainParams
from collateral.contract.params import TrainingParams
from collateral.contract.work import Work
from collateral.jobs._job import Inputs, Job, OwnFile, Planned
from collateral.plan import paths
from collateral.results import layout
from collateral.results.files import InvalidResultError, read_json
from collateral.results.provenance import file_hash, merge

INIT = "init.weights"  # config key of the initial weights
TRAINING = {*TrainingParams.model_fields}


class WeightsJob(Job):
    """Description of a model that is trained from scratch or from `init`, or given by the user."""

    model: str
    freeze: tuple[str, ...] = ()  # parts of the model that never train
    own: OwnFile | None = None  # the user's trained weights or, with the key INIT, initial weights

    @property
    def is_given(self) -> bool:
        """Whether the user gives the trained model."""
        return self.own is not None and self.own.key != INIT

    @property
    def inputs(self) -> Inputs:
        """The data set."""
        return {"data": layout.DATA}

    @property
    def files(self) -> dict[str, str]:
        """Weights, outputs and history."""
        return self.in_folder(**layout.MODEL_FILES)


class TrainedJob(WeightsJob):
    """Description of a model with the settings of its training."""

    stage = "train"

    seed: int
    params: dict[str, Any]  # settings of training; empty if the user gives the trained model


class PlannedWeights(Planned):
    """A job of the plan that trains a model, or reads weights given by the user."""

    evaluated = layout.OUTPUTS
    uses_model = True

    @property
    def own(self) -> tuple[OwnFile, Path] | None:
        """Weights that the user gives for this model, with their path; None if it is trained."""
        return None

    def find_file(
        self, key: str, given: InitParams | BaseParams | RetrainParams | GivenParams | None
    ) -> tuple[OwnFile, Path] | None:
        """Return the weight file of this cell and seed; None if the config names no weight file."""
        if given is None or given.weights is None:
            return None
        file = str(given.weights)
        for wildcard, name in ((CELL, "cell"), (SEED, "seed")):
            file = file.replace(wildcard, str(self.wildcards.get(name, wildcard)))
        rename, rte = dict(given.rename), getattr(given, "rte", None)
        digest = self._find_hash(Path(file).expanduser())
        return OwnFile(key=key, sha256=digest, rename=rename, rte=rte), Path(file)

    def _find_hash(self, file: Path) -> str:
        """Return the hash of a user's file; if the file was deleted, the hash in the record."""
        try:
            if file.is_file():
                return file_hash(file)
            record = self.path(f"{paths.BENCHMARK}/{self.describes.folder}/{layout.RECORD}")
            found = merge(read_json(Path(record)))
        except (OSError, InvalidResultError):  # the job reports a file that cannot be read
            return ""
        return str((found.get("weights") or found.get("init") or {}).get("hash", ""))

    @property
    def own_file(self) -> tuple[OwnFile, Path] | None:
        """User's file of trained weights or, if there is none, of initial weights."""
        return self.own or self.find_file(INIT, self.benchmark.config.init)

    @property
    def values(self) -> dict[str, Any]:
        """Model, user's file, and settings of training."""
        own = self.own_file[0] if self.own_file else None
        about = {"model": self.model, "freeze": self.benchmark.config.freeze, "own": own}
        if "params" not in self.describes.model_fields:
            return about
        training = self.benchmark.config.base.model_dump(mode="json", include=TRAINING)
        return {**about, "params": {} if self.own else training}

    @property
    def beside(self) -> dict[str, Any]:
        """Path of the user's weight file."""
        return {"weights": str(self.own_file[1].expanduser())} if self.own_file else {}

    @property
    def precision(self) -> str:
        """Precision in which the model is trained."""
        return self.benchmark.config.base.precision

    @property
    def num_trained(self) -> int:
        """Number of examples on which the model is trained."""
        return self.workload.size.num_train

    @property
    def work(self) -> Work:
        """Estimated amount of computation of training and one evaluation.

        Weights that the user gives are not trained, but evaluated, at most twice.
        """
        evaluation = self.workload.evaluation
        if self.own:
            return evaluation * 2
        return self.workload.fit(self.num_trained) + evaluation

    @property
    def bytes(self) -> float:
        """Disk space of weights and outputs, in bytes."""
        return self.workload.run_bytes

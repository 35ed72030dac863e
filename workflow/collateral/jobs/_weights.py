"""Base class of jobs that train a model with the settings of `base:`, or read a user's weights."""

import shlex
from pathlib import Path

from collateral.config.weights import CELL, SEED, BaseParams, GivenParams, InitParams, RetrainParams
from collateral.contract.params import TrainingParams
from collateral.contract.work import Work
from collateral.jobs._job import Job, OwnFile, Record, existing
from collateral.results import layout

INIT = "init.weights"  # config key of the initial weights
# Files of a model from which tables are made; its weights are excluded, as no table needs them.
RUN_FILES = tuple(name for option, name in layout.RUN_FILES.items() if option != "model")


class WeightsJob(Job):
    """A job that trains a model from scratch or from `init`, or reads weights given by the user."""

    evaluated = layout.OUTPUTS
    stage = "train"
    uses_model = True

    @property
    def own(self) -> OwnFile | None:
        """Weights that the user gives for this model, or None if the model is trained."""
        return None

    def find_file(
        self, key: str, given: InitParams | BaseParams | RetrainParams | GivenParams | None
    ) -> OwnFile | None:
        """Return the weight file of this cell and seed; None if the config names no weight file."""
        if given is None or given.weights is None:
            return None
        file = str(given.weights)
        for wildcard, name in ((CELL, "cell"), (SEED, "seed")):
            file = file.replace(wildcard, str(self.wildcards.get(name, wildcard)))
        return OwnFile(key, Path(file), given.rename, getattr(given, "rte", None))

    @property
    def training(self) -> str:
        """Hyper-parameters of training as JSON; an empty object if the user gives the weights."""
        if self.own:
            return "{}"
        return self.benchmark.config.base.model_dump_json(include={*TrainingParams.model_fields})

    @property
    def own_file(self) -> OwnFile | None:
        """User's file of trained weights or, if there is none, of initial weights."""
        return self.own or self.find_file(INIT, self.benchmark.config.init)

    @property
    def start_arguments(self) -> list[str]:
        """Options `--weights` or `--init` with the user's file; empty for training from scratch."""
        file = self.own_file
        return file.arguments("--init" if file.key == INIT else "--weights") if file else []

    @property
    def start(self) -> str:
        """Command-line options that pass the user's weight file, as one text for the rule."""
        return shlex.join(self.start_arguments)

    @property
    def weights(self) -> list[str]:
        """User's weight file as an input of the rule; empty if it does not exist."""
        return existing(self.own_file.file) if self.own_file else []

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

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the output files from which tables, figures and pages are made."""
        return RUN_FILES

    def weights_record(self, found: Record) -> Record:
        """Return the record entries that describe the user's weight file."""
        file = self.own_file
        if not file:
            return {"init": None, "weights": None}
        key = "init" if file.key == INIT else "weights"
        return {key: file.record(found.get(key))}

    def training_record(self, found: Record) -> Record:
        """Return the record entries of a model that is trained with the settings of `base:`."""
        params = TrainingParams.model_validate_json(self.training).model_dump(mode="json")
        own = {"params": {} if self.own else params, **self.weights_record(found)}
        return {**self.model_record(), **own}

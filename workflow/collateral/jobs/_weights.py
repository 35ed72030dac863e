"""Base class of jobs that train a model with the settings of `base:`, or read a user's weights."""

from pathlib import Path

from collateral.config.weights import CELL, SEED, BaseParams, GivenParams, InitParams, RetrainParams
from collateral.contract.params import TrainingParams
from collateral.contract.work import Work
from collateral.jobs._job import Job, OwnFile, Record, existing
from collateral.plugins.find import MODEL
from collateral.results import layout

INIT = "init.weights"  # config key of the initial weights
# Files of a model from which tables are made; its weights are excluded, as no table needs them.
RUN_FILES = tuple(name for option, name in layout.RUN_FILES.items() if option != "model")


class WeightsJob(Job):
    """A job that trains a model from scratch or from `init`, or reads weights given by the user."""

    evaluated = layout.OUTPUTS
    stage = "train"

    @property
    def own(self) -> OwnFile | None:
        """Weights that the user gives for this model, or None if the model is trained."""
        return None

    def own_file(
        self, key: str, given: InitParams | BaseParams | RetrainParams | GivenParams | None
    ) -> OwnFile | None:
        """Return the weight file of a config key for this cell and seed; None if there is none."""
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
    def start(self) -> str:
        """Options `--weights` or `--init` with the user's file; empty for training from scratch."""
        options = {True: "--init", False: "--weights"}
        return " ".join(own.options(options[own.key == INIT]) for own in self.own_files)

    @property
    def weights(self) -> list[str]:
        """User's weight file as an input of the rule; empty if it does not exist."""
        return existing(own.file for own in self.own_files)

    @property
    def own_files(self) -> list[OwnFile]:
        """Files with weights that the user gives: trained, else initial ones; at most one file."""
        own = self.own or self.own_file(INIT, self.benchmark.config.init)
        return [own] if own else []

    @property
    def plug_ins(self) -> tuple[str, ...]:
        """Module of the model."""
        return (MODEL.module(self.model),)

    @property
    def num_trained(self) -> int:
        """Number of examples on which the model is trained."""
        return self.workload.size.num_train

    @property
    def work(self) -> Work:
        """Estimated amount of computation of training and one evaluation.

        Weights that the user gives are not trained, but evaluated twice.
        """
        evaluation = self.workload.evaluation
        if self.own:
            return (evaluation * 2).for_model(self.model)
        return (self.workload.fit(self.num_trained) + evaluation).for_model(self.model)

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
        for own in self.own_files:  # there is at most one
            key = "init" if own.key == INIT else "weights"
            return {key: own.record(found.get(key))}
        return {"init": None, "weights": None}

    def training_record(self, found: Record) -> Record:
        """Return the record entries of a model that is trained with the settings of `base:`."""
        params = TrainingParams.model_validate_json(self.training).model_dump(mode="json")
        own = {"params": {} if self.own else params, **self.weights_record(found)}
        return {**self.model_record(), **own}

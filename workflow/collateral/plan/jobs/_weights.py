"""Base class of jobs that train a model with the settings of `base:`, or read a user's weights."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from collateral.config.weights import CELL, SEED
from collateral.contract.params import TrainingParams
from collateral.contract.work import Work
from collateral.plan.jobs._job import Job, OwnFile, Record, as_json, existing
from collateral.plugins.find import MODEL
from collateral.results import layout
from collateral.results.provenance import content_hash

INIT = "init.weights"  # config key of the initial weights
# The model's weights are excluded, because no number in tables is computed from them.
RUN_FILES = tuple(name for option, name in layout.RUN_FILES.items() if option != "model")


class WeightsJob(Job):
    """A job that trains a model from scratch or from `init`, or reads the user's own weights."""

    evaluated = layout.OUTPUTS
    stage = "train"

    @property
    def own(self) -> OwnFile | None:
        """User's own weights, if they replace training."""
        return None

    @property
    def training(self) -> str:
        """Hyper-parameters of training as JSON; an empty object for the user's own weights."""
        if self.own:
            return "{}"
        return self.benchmark.config.base.model_dump_json(include={*TrainingParams.model_fields})

    @property
    def start(self) -> str:
        """Options with the user's or the initial weights; empty for training from scratch."""
        if self.own:
            return own_options(self.own)
        init = self.benchmark.config.init
        return weights_options("--init", init.weights, init.rename) if init else ""

    @property
    def weights(self) -> list[str]:
        """User's weight file as an input of the rule; empty if it does not exist."""
        return existing(own.file for own in self.own_files)

    @property
    def own_files(self) -> list[OwnFile]:
        """User's weight file: the model's own weights, or its initial weights."""
        init = self.benchmark.config.init
        if self.own or init is None:
            return [self.own] if self.own else []
        return [OwnFile(INIT, init.weights, init.rename)]

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
        """Work of training and one evaluation; the user's own weights are evaluated twice."""
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
            return {key: file_record(own, found.get(key))}
        return {"init": None, "weights": None}

    def training_record(self, found: Record) -> Record:
        """Return the record entries of a model that is trained with the settings of `base:`."""
        params = TrainingParams.model_validate_json(self.training).model_dump(mode="json")
        own = {"params": {} if self.own else params, **self.weights_record(found)}
        return {**self.model_record(), **own}


def own_file(key: str, pattern: Path, rename: Mapping[str, str], **places: object) -> OwnFile:
    """Return a user's weight file for a cell and a seed; wildcards in its path are replaced."""
    file = str(pattern)
    for wildcard, name in ((CELL, "cell"), (SEED, "seed")):
        file = file.replace(wildcard, str(places.get(name, wildcard)))
    return OwnFile(key, Path(file), rename)


def own_options(own: OwnFile) -> str:
    """Return options with the user's weight file, its renaming, and the stated seconds."""
    stated = [] if own.rte is None else ["--rte", str(own.rte)]
    return " ".join([weights_options("--weights", own.file, own.rename), *stated])


def weights_options(option: str, file: Path, rename: Mapping[str, str]) -> str:
    """Return options with a weight file and the renaming of its parameters."""
    renamed = ["--rename", as_json(rename)] if rename else []
    return shlex.join([option, str(file.expanduser()), *renamed])


def file_record(own: OwnFile, found: Record | None) -> Record:
    """Return name, hash and renaming of a user's file; a deleted file keeps its recorded hash."""
    path = own.file.expanduser()
    digest = content_hash(path) if path.exists() else (found or {}).get("hash")
    return {"name": own.file.name, "hash": digest, "rename": own.rename}

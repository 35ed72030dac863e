"""Jobs that train a model by the recipe of the base, or read it from a file of the user."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from collateral.config.weights import CELL, SEED
from collateral.contract.params import TrainingParams
from collateral.contract.plugins import MODEL
from collateral.contract.work import Work
from collateral.plan.fingerprint import stage_code
from collateral.plan.jobs._disk import run_bytes
from collateral.plan.jobs._job import Job, Record, as_json, existing
from collateral.plan.weights_fit import OwnFile
from collateral.results import layout
from collateral.results.provenance import INPUTS, content_hash

INIT = "init.weights"  # the config's key
# The weights are not among them: no number depends on them.
RUN_FILES = tuple(name for option, name in layout.RUN_FILES.items() if option != "model")


class WeightsJob(Job):
    """A job that trains a model from scratch or from `init`, or reads the user's own weights."""

    evaluated = layout.OUTPUTS
    stage: ClassVar[str] = "train"

    if TYPE_CHECKING:

        @property
        def seed(self) -> int:
            """The seed of the model."""

    @property
    def own(self) -> OwnFile | None:
        """The user's own weights, if these replace training."""
        return None

    @property
    def training(self) -> str:
        """The hyper-parameters of training, as JSON; none for the user's own weights."""
        if self.own:
            return "{}"
        return self.benchmark.config.base.model_dump_json(include={*TrainingParams.model_fields})

    @property
    def start(self) -> str:
        """Options with the weights that it has or starts from; none if it starts from scratch."""
        if self.own:
            return own_options(self.own)
        init = self.benchmark.config.init
        return weights_options("--init", init.weights, init.rename) if init else ""

    @property
    def weights(self) -> list[str]:
        """The user's file of weights as an input."""
        return existing(own.file for own in self.own_files)

    @property
    def own_files(self) -> list[OwnFile]:
        """The user's file of weights that it has or starts from."""
        init = self.benchmark.config.init
        if self.own or init is None:
            return [self.own] if self.own else []
        return [OwnFile(INIT, init.weights, init.rename)]

    @property
    def code(self) -> str:
        """The fingerprint of the code that trains it."""
        return stage_code(self.stage, MODEL.module(self.model))

    @property
    def num_trained(self) -> int:
        """The number of examples that it is trained on."""
        return self.workload.size.num_train

    @property
    def work(self) -> Work:
        """Training and one evaluation; for the user's own weights, their accuracy comes first."""
        evaluation = self.workload.evaluation
        if self.own:
            return (evaluation * 2).of(self.model)
        return (self.workload.fit(self.num_trained) + evaluation).of(self.model)

    @property
    def bytes(self) -> float:
        """The disk space of weights and outputs."""
        return run_bytes(self.workload)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that tables, figures and pages are made from."""
        return RUN_FILES

    def weights_record(self, found: Record) -> Record:
        """Return the fields of a record that describe the user's file of weights."""
        for own in self.own_files:  # at most one
            key = "init" if own.key == INIT else "weights"
            return {key: file_record(own, found.get(key))}
        return {"init": None, "weights": None}

    def training_record(self, found: Record) -> Record:
        """Return the fields of a record of all models that are trained by the base's recipe."""
        params = TrainingParams.model_validate_json(self.training).model_dump(mode="json")
        return {
            "model": self.model,
            "code": self.code,
            "seed": self.seed,
            "params": {} if self.own else params,
            INPUTS: self.record_inputs(),
            **self.weights_record(found),
        }


def own_file(key: str, pattern: Path, rename: Mapping[str, str], **places: object) -> OwnFile:
    """Return a user's file of weights of a cell and a seed."""
    file = str(pattern)
    for wildcard, name in ((CELL, "cell"), (SEED, "seed")):
        file = file.replace(wildcard, str(places.get(name, wildcard)))
    return OwnFile(key, Path(file), rename)


def own_options(own: OwnFile) -> str:
    """Return options with a user's file, how to read its names, and the seconds that it took."""
    stated = [] if own.rte is None else ["--rte", str(own.rte)]
    return " ".join([weights_options("--weights", own.file, own.rename), *stated])


def weights_options(option: str, file: Path, rename: Mapping[str, str]) -> str:
    """Return options of a job: a user's file of weights, and how to read its names."""
    renamed = ["--rename", as_json(rename)] if rename else []
    return shlex.join([option, str(file.expanduser()), *renamed])


def file_record(own: OwnFile, found: Record | None) -> Record:
    """Return the fields of a record about one of the user's files; a deleted one is not read."""
    path = own.file.expanduser()
    digest = content_hash(path) if path.exists() else (found or {}).get("hash")
    return {"name": own.file.name, "hash": digest, "rename": own.rename}

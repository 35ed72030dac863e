"""Command-line options that several stages share, and the records that are made from them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel

from collateral.results.provenance import INPUTS, hash_files
from collateral.results.record import versions

Code = Annotated[str, "fingerprint of the code, for the record"]
DataFile = Annotated[Path, "dataset.npz"]
SplitFile = Annotated[Path, "split.json"]
RunName = Annotated[str, "name of the run"]
MethodName = Annotated[str, "folder of the method"]
MethodValues = Annotated[str, "parameters of the method, as JSON"]
TrainingValues = Annotated[str, "training parameters, as JSON"]
Selected = Annotated[Sequence[Path], "selected.json of the tuning"]
InitialWeights = Annotated[Path | None, "weights to start from"]
Rename = Annotated[
    Mapping[str, str], "new prefixes of weight names, by old prefix, as JSON", {"type": json.loads}
]
Rte = Annotated[float | None, "running time in seconds, as stated by the user"]
NO_RENAME: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Options of a job that makes or evaluates a model."""

    data: DataFile
    model: Annotated[str, "name of the architecture"]
    seed: Annotated[int, "the seed of the run"]
    out: Annotated[Path, "folder for the results"]
    checkpoints: Annotated[Path, "folder of checkpoints"]
    checkpoint_seconds: Annotated[
        float | None, "seconds between checkpoints; default COLLATERAL_CHECKPOINT_SECONDS or 60"
    ] = None
    code: Code = ""
    threads: Annotated[int, "CPU threads"] = 1

    @property
    def inputs(self) -> list[Path]:
        """Input files of the job: the data set."""
        return [self.data]

    def record(self, params: BaseModel | Mapping[str, Any], *more_inputs: Path) -> dict[str, Any]:
        """Return the record of this job, with hashes of its input files."""
        return {
            "model": self.model,
            "params": params.model_dump(mode="json") if isinstance(params, BaseModel) else params,
            "seed": self.seed,
            "code": self.code,
            "versions": versions(),
            INPUTS: hash_files([*self.inputs, *more_inputs], self.data.parent),
        }


@dataclass(frozen=True, kw_only=True)
class MethodOptions(JobOptions):
    """Options of a job that runs a method from the base model."""

    method: MethodName
    params: MethodValues
    split: SplitFile
    base: Annotated[Path, "weights of the base model"]
    prepared: Annotated[Sequence[Path], "folders where other jobs store their preparations"] = ()

    @property
    def inputs(self) -> list[Path]:
        """Input files of the job: the data set, the split and the base model."""
        return [self.data, self.split, self.base]

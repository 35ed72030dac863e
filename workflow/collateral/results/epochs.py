"""Outputs of a tracked model after every epoch, without the logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import ArrayFile
from collateral.results.outputs import ModelOutputs

SETS = ("train", "test")


@dataclass(frozen=True)
class EpochOutputs:
    """Outputs of a model after an epoch on one set of examples, in data-set order."""

    confidence: NDArray[np.float32]  # (N,), probability of the true class
    prediction: NDArray[np.int16]  # (N,), class of the largest logit


@dataclass(frozen=True)
class Epoch:
    """Outputs of a model after one epoch."""

    train: EpochOutputs
    test: EpochOutputs


@dataclass(frozen=True)
class Epochs(ArrayFile, Sequence[Epoch]):
    """Outputs of the base model, then of the model after every epoch."""

    is_compressed: ClassVar[bool] = True

    confidence: Mapping[str, NDArray[np.float32]]  # outputs by set of examples, (epochs, N)
    prediction: Mapping[str, NDArray[np.int16]]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Epochs:
        """Stack the outputs of all epochs; each epoch has the arrays of `keep_outputs`."""
        names = ("confidence", "prediction")
        return cls(*({s: np.stack(arrays[f"{s}_{name}"]) for s in SETS} for name in names))

    def to_arrays(self) -> dict[str, Any]:
        """Return the arrays of the file by name."""
        parts = {"confidence": self.confidence, "prediction": self.prediction}
        return {f"{s}_{name}": part[s] for s in SETS for name, part in parts.items()}

    def __len__(self) -> int:
        """Return the number of epochs plus one, for the base model."""
        return len(self.confidence["train"])

    @overload
    def __getitem__(self, epoch: int) -> Epoch: ...
    @overload
    def __getitem__(self, epoch: slice) -> list[Epoch]: ...
    def __getitem__(self, epoch: int | slice) -> Epoch | list[Epoch]:
        """Return the outputs after an epoch; 0 is the base model."""
        if isinstance(epoch, slice):
            return [self[one] for one in range(*epoch.indices(len(self)))]
        sets = (EpochOutputs(self.confidence[s][epoch], self.prediction[s][epoch]) for s in SETS)
        return Epoch(*sets)


def keep_outputs(outputs: ModelOutputs) -> dict[str, NDArray[Any]]:
    """Return the arrays that are stored for one epoch, by their names in the file."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in (("train", outputs.train), ("test", outputs.test)):
        arrays[f"{name}_confidence"] = part.confidence
        arrays[f"{name}_prediction"] = part.prediction.astype(np.int16)
    return arrays

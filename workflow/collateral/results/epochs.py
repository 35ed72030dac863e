"""Outputs of a tracked model after every epoch, without the logits."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import ArrayFile
from collateral.results.outputs import ModelOutputs

SETS = ("train", "test")


@dataclass(frozen=True)
class EpochOutputs:
    """Outputs of a model after an epoch on one set of examples, in data-set order."""

    confidence: NDArray[np.float32]  # probability of the true class
    prediction: NDArray[np.int16]  # class of the largest logit


@dataclass(frozen=True)
class Epoch:
    """Outputs of a model after one epoch."""

    train: EpochOutputs
    test: EpochOutputs


@dataclass(frozen=True)
class Epochs(ArrayFile):
    """Outputs of a tracked run: first of the base model, then of the model after every epoch."""

    is_compressed: ClassVar[bool] = True

    confidence: Mapping[str, NDArray[np.float32]]  # for train and test: (epochs, examples)
    prediction: Mapping[str, NDArray[np.int16]]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Stack arrays that are named as in `keep_outputs` and have one item per epoch."""
        names = ("confidence", "prediction")
        return cls(*({s: np.stack(arrays[f"{s}_{name}"]) for s in SETS} for name in names))

    def to_arrays(self) -> dict[str, Any]:
        """Return a dict from name to array, as in the file."""
        parts = {"confidence": self.confidence, "prediction": self.prediction}
        return {f"{s}_{name}": part[s] for s in SETS for name, part in parts.items()}

    @property
    def models(self) -> list[Epoch]:
        """Outputs after each epoch; the first item has the outputs of the base model."""
        count = len(self.confidence["train"])
        return [Epoch(*(self._outputs(one, epoch) for one in SETS)) for epoch in range(count)]

    def _outputs(self, subset: str, epoch: int) -> EpochOutputs:
        return EpochOutputs(self.confidence[subset][epoch], self.prediction[subset][epoch])


def keep_outputs(outputs: ModelOutputs) -> dict[str, NDArray[Any]]:
    """Return a dict from name to array of what the file stores for one epoch."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, part in (("train", outputs.train), ("test", outputs.test)):
        arrays[f"{name}_confidence"] = part.confidence
        arrays[f"{name}_prediction"] = part.prediction.astype(np.int16)
    return arrays

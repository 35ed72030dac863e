"""What a tracked run's model says of every example after every epoch, without the logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import reading
from collateral.results.files import atomic
from collateral.results.outputs import ModelOutputs

SETS = ("train", "test")


@dataclass(frozen=True)
class Answers:
    """What a model says of one set of examples, in data-set order."""

    confidence: NDArray[np.float32]  # (N,), probability of the true class
    prediction: NDArray[np.int16]  # (N,), class of the largest logit


@dataclass(frozen=True)
class Epoch:
    """A model after an epoch."""

    train: Answers
    test: Answers


@dataclass(frozen=True)
class Epochs(Sequence[Epoch]):
    """The base model, then the run's after every epoch."""

    confidence: Mapping[str, NDArray[np.float32]]  # by set, (epochs, N)
    prediction: Mapping[str, NDArray[np.int16]]

    @staticmethod
    def of(parts: Mapping[str, Any]) -> Epochs:
        """Return epochs from what `answers_in` gave of each."""
        names = ("confidence", "prediction")
        return Epochs(*({of: np.stack(parts[f"{of}_{name}"]) for of in SETS} for name in names))

    def __len__(self) -> int:
        """Return the number of epochs, and one for the base model."""
        return len(self.confidence["train"])

    @overload
    def __getitem__(self, epoch: int) -> Epoch: ...
    @overload
    def __getitem__(self, epoch: slice) -> list[Epoch]: ...
    def __getitem__(self, epoch: int | slice) -> Epoch | list[Epoch]:
        """Return what the model says after an epoch; 0 is the base model."""
        if isinstance(epoch, slice):
            return [self[one] for one in range(*epoch.indices(len(self)))]
        sets = (Answers(self.confidence[of][epoch], self.prediction[of][epoch]) for of in SETS)
        return Epoch(*sets)

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        arrays: dict[str, Any] = {}
        for of in SETS:
            arrays |= {f"{of}_confidence": self.confidence[of]}
            arrays |= {f"{of}_prediction": self.prediction[of]}
        with atomic(path) as temporary:
            np.savez_compressed(temporary, **arrays)

    @staticmethod
    def load(path: Path) -> Epochs:
        """Read what `save` wrote."""
        with reading(path) as file:
            return Epochs.of(file)


def answers_in(outputs: ModelOutputs) -> dict[str, NDArray[Any]]:
    """Return what is kept of an epoch, by the names of the file."""
    kept: dict[str, NDArray[Any]] = {}
    for of, part in (("train", outputs.train), ("test", outputs.test)):
        kept |= {f"{of}_confidence": part.confidence}
        kept |= {f"{of}_prediction": part.prediction.astype(np.int16)}
    return kept

"""What a model says of every example, computed once, where the model is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import reading
from collateral.results.files import atomic

PARTS = ("logits", "confidence", "prediction")


@dataclass(frozen=True)
class Outputs:
    """A model's outputs on one set of examples, in data-set order."""

    logits: NDArray[np.float16]  # (N, C)
    confidence: NDArray[np.float32]  # (N,), probability of the true class, from the float32 pass
    prediction: NDArray[np.int64]  # (N,), class of the largest float32 logit

    def __getitem__(self, index: NDArray[np.int64]) -> Outputs:
        """Return the outputs of the examples in `index`."""
        return Outputs(self.logits[index], self.confidence[index], self.prediction[index])


@dataclass(frozen=True)
class ModelOutputs:
    """A model's outputs on the train and the test set."""

    train: Outputs
    test: Outputs

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        sets = {"train": self.train, "test": self.test}
        arrays = {f"{s}_{part}": getattr(o, part) for s, o in sets.items() for part in PARTS}
        with atomic(path) as temporary:
            np.savez_compressed(temporary, **arrays)


@dataclass(frozen=True)
class StoredOutputs:
    """What `ModelOutputs.save` wrote of one set; each part is read when it is asked for."""

    path: Path
    set: str  # train or test

    @property
    def logits(self) -> NDArray[np.float16]:
        """Read the logits, (N, C); they are large, and kept by nobody."""
        return self._read("logits")

    @cached_property
    def confidence(self) -> NDArray[np.float32]:
        """Probability of the true class, (N,)."""
        return self._read("confidence")

    @cached_property
    def prediction(self) -> NDArray[np.int64]:
        """Class of the largest float32 logit, (N,)."""
        return self._read("prediction")

    def _read(self, part: str) -> NDArray[Any]:
        with reading(self.path) as file:
            array: NDArray[Any] = file[f"{self.set}_{part}"]
            return array


@dataclass(frozen=True)
class Embeddings:
    """The base model's penultimate features: clean images, eval mode."""

    train: NDArray[np.float32]  # (N, D)
    test: NDArray[np.float32]  # (M, D)

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        with atomic(path) as temporary:
            np.savez(temporary, train=self.train, test=self.test)

    @staticmethod
    def load(path: Path) -> Embeddings:
        """Read what `save` wrote."""
        with reading(path) as file:
            return Embeddings(file["train"], file["test"])

"""Every example's similarity to a cell's forget set, and the examples the report may show."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import reading
from collateral.results.files import atomic

OPTIONAL = ("shown_nearest", "copies", "image_size")  # of files


@dataclass(frozen=True)
class Neighbours:
    """Similarities by seed and example in data-set order, and the nearest examples."""

    seeds: NDArray[np.int64]  # (S,), one a row below
    train_similarity: NDArray[np.float32]  # (S, N)
    test_similarity: NDArray[np.float32]  # (S, M)
    class_similarity: NDArray[np.float32]  # (S, C), of the mean of all its train examples
    shown_set: NDArray[np.str_]  # (K,), "train" (retained), "test" or "forget"
    shown_index: NDArray[np.int64]  # (K,), within the test set for "test", else the train set
    # None: nobody looked.
    shown_nearest: NDArray[np.int64] | None = None  # (K,), place of the nearest forgotten one
    copies: NDArray[np.int64] | None = None  # (P, 3): forgotten, retained like it, bits between
    image_size: NDArray[np.int64] | None = None  # (2,): height and width, in pixels

    def save(self, path: Path) -> None:
        """Write `path`, an .npz."""
        with atomic(path) as temporary:
            found = {field.name: getattr(self, field.name) for field in fields(self)}
            np.savez(temporary, **{key: array for key, array in found.items() if array is not None})

    @staticmethod
    def load(path: Path) -> Neighbours:
        """Read what `save` wrote."""
        with reading(path) as file:
            names = [field.name for field in fields(Neighbours)]
            return Neighbours(**{n: file[n] for n in names if n not in OPTIONAL or n in file})

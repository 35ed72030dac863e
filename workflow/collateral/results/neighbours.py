"""Every example's similarity to a cell's forget set, and the examples the report may show."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import ArrayFile


@dataclass(frozen=True)
class Neighbours(ArrayFile):
    """Similarities by seed and example in data-set order, and the nearest examples."""

    seeds: NDArray[np.int64]  # (S,), seed of each row of the similarities
    train_similarity: NDArray[np.float32]  # (S, N), for N train examples
    test_similarity: NDArray[np.float32]  # (S, M), for M test examples
    class_similarity: NDArray[np.float32]  # (S, C), similarity of each class's mean features
    shown_set: NDArray[np.str_]  # (K,), "train" (retained), "test" or "forget"
    shown_index: NDArray[np.int64]  # (K,), index in the test set for "test", else in the train set
    # The next three arrays are None in files of older versions.

    # (K,), index among the K listed examples of the forget example that is nearest to each.
    shown_nearest: NDArray[np.int64] | None = None
    # (P, 3), copies: train indices of forgotten and retained image, differing bits (-1 if equal).
    copies: NDArray[np.int64] | None = None
    # (2,), height and width of the listed images in pixels.
    image_size: NDArray[np.int64] | None = None

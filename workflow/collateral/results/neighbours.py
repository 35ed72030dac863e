"""Every example's similarity to a cell's forget set, and the examples the report may show."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import ArrayFile


@dataclass(frozen=True)
class Neighbours(ArrayFile):
    """Similarity of each example to the forget set, per seed, and a list of nearest examples."""

    seeds: NDArray[np.int64]  # (S,), seed of each row in the similarity arrays
    train_similarity: NDArray[np.float32]  # (S, N), similarity of N train examples
    test_similarity: NDArray[np.float32]  # (S, M), similarity of M test examples
    class_similarity: NDArray[np.float32]  # (S, C), similarity of the mean features of each class
    shown_set: NDArray[np.str_]  # (K,), set of each listed example: train (retained), test, forget
    shown_index: NDArray[np.int64]  # (K,), index in the test set for "test", else in the train set
    # The next three arrays are None in files of older versions.

    # (K,), position in this list of the forget example that is nearest to each listed example.
    shown_nearest: NDArray[np.int64] | None = None
    # (P, 3), copies: train index of forgotten and of retained image, differing hash bits or -1.
    copies: NDArray[np.int64] | None = None
    # (2,), height and width of the listed images in pixels.
    image_size: NDArray[np.int64] | None = None

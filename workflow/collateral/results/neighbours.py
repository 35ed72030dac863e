"""Every example's similarity to a cell's forget set, and the examples the report may show."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.results.arrays import ArrayFile


@dataclass(frozen=True)
class Neighbours(ArrayFile):
    """Similarity of each example to the forget set, per seed, and a list of nearest examples."""

    seeds: NDArray[np.int64]  # seed of each row of the next three arrays
    train_similarity: NDArray[np.float32]  # (seeds, train examples), to the forget set
    test_similarity: NDArray[np.float32]  # (seeds, test examples), to the forget set
    class_similarity: NDArray[np.float32]  # (seeds, classes), of classes' mean features
    shown_set: NDArray[np.str_]  # set of each listed example: train (retained), test, forget
    shown_index: NDArray[np.int64]  # index of each listed example in the test or the train set
    # The next three arrays are None in files of older versions.

    # For each listed example: position in the list of the nearest forget example.
    shown_nearest: NDArray[np.int64] | None = None
    # One row per copy: train index of forgotten and of retained image, differing hash bits or -1.
    copies: NDArray[np.int64] | None = None
    # Height and width of the listed images in pixels.
    image_size: NDArray[np.int64] | None = None

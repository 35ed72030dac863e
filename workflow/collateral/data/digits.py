"""scikit-learn's digits: 1,797 handwritten digits of 8x8 pixels; the package contains the files.

The original order is by writer. Therefore the images are shuffled once, always in the same way: the
first half of a class is as good as a random half, and train and test set have the same writers. The
first quarter of each class is the test set: about 45 images; 135 remain for training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from collateral.contract.conventions import derive_seed
from collateral.contract.data import DataOptions, DatasetInfo, DatasetSize

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

CLASS_NAMES = tuple(f"digit_{digit}" for digit in range(10))
INFO = DatasetInfo(
    class_names=CLASS_NAMES,
    source="scikit-learn; from UCI, Optical Recognition of Handwritten Digits",
    licence="CC BY 4.0",
    size=DatasetSize(
        CLASS_NAMES,
        train=(134, 136, 133, 137, 136, 136, 136, 134, 130, 135),
        test=(44, 46, 44, 46, 45, 46, 45, 45, 44, 45),
        shape=(8, 8, 1),
    ),
)
TEST_SHARE = 0.25


class Options(DataOptions):
    """Options of the digits: only the options that every data set has."""


def load(options: Options) -> Dataset:
    """Return the digits in a fixed shuffled order; the first quarter of a class is its test set."""
    import numpy as np
    from sklearn.datasets import load_digits

    from collateral.data._readers.pixels import statistics, to_uint8
    from collateral.results.dataset import Dataset, Labels

    values, digits = load_digits(return_X_y=True)
    order = sorted(range(len(digits)), key=lambda position: derive_seed("digits", position))
    images = to_uint8(values[order] / 16).reshape(-1, 8, 8, 1)
    labels = digits[order].astype(np.int64)
    is_test = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        members = np.flatnonzero(labels == digit)
        is_test[members[: round(TEST_SHARE * len(members))]] = True
    mean, std = statistics(images[~is_test])
    split = Labels(labels[~is_test], labels[is_test], CLASS_NAMES)
    return Dataset(images[~is_test], images[is_test], split, mean, std)

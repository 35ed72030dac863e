"""MNIST: 70,000 handwritten digits of 28x28 pixels, read by torchvision.

Not augmented and not normalised, as in the paper's public code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.data._readers.torchvision_sets import DIGITS, RootOptions, load_set

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(
    class_names=DIGITS,
    source="LeCun, Cortes, Burges, The MNIST database of handwritten digits",
    licence="CC BY-SA 3.0 (as commonly stated)",
    size=DatasetSize(
        DIGITS,
        train=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
        test=(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
        shape=(28, 28, 1),
    ),
)
HOW = (
    "Get train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte (.gz) from http://yann.lecun.com/exdb/mnist/ and unpack them into "
    "MNIST/raw/ in that folder, or set `root:` to the folder that holds MNIST/."
)


class Options(RootOptions):
    """Options of MNIST: the folder of its files."""


def load(options: Options) -> Dataset:
    """Return the MNIST images in the order of their files."""
    return load_set("MNIST", options, HOW, mean=(0.0,), std=(1.0,))

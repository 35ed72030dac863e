"""CIFAR-100: 60,000 photographs of 32x32 pixels in 100 classes, read by torchvision.

Augmented by random crops after padding by 4 and by flips, as in the paper's public code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.data._readers.torchvision_sets import SETS, RootOptions, load_set

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

CLASS_NAMES = SETS["CIFAR100"].names or ()
INFO = DatasetInfo(
    class_names=CLASS_NAMES,
    source="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
    licence="none stated; research use is customary",
    size=DatasetSize(CLASS_NAMES, (500,) * 100, (100,) * 100, (32, 32, 3)),
)
HOW = (
    "Get cifar-100-python.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html and unpack it in "
    "that folder, or set `root:` to the folder that holds cifar-100-python/."
)


class Options(RootOptions):
    """Options of CIFAR-100: the folder of its files."""


def load(options: Options) -> Dataset:
    """Return CIFAR-100 with its fine labels, in the order of its files."""
    mean, std = (0.5070, 0.4865, 0.4409), (0.2673, 0.2564, 0.2761)
    return load_set("CIFAR100", options, HOW, mean, std)

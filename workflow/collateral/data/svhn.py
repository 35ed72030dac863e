"""SVHN: 73,257 train and 26,032 test house-number digits of 32x32 pixels, read by torchvision.

The `extra` part is not used and images are not augmented, as in the paper. The normalisation is
that of the paper's public code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.data._readers.torchvision_sets import DIGITS, SETS, RootOptions, load_set

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(
    class_names=DIGITS,
    source="Netzer et al., Reading Digits in Natural Images, 2011",
    licence="non-commercial use only",
    size=DatasetSize(
        DIGITS,
        train=(4948, 13861, 10585, 8497, 7458, 6882, 5727, 5595, 5045, 4659),
        test=(1744, 5099, 4149, 2882, 2523, 2384, 1977, 2019, 1660, 1595),
        shape=(32, 32, 3),
    ),
)
FOLDER = SETS["SVHN"].folder
HOW = (
    "Get train_32x32.mat and test_32x32.mat (format 2, cropped digits) from "
    "http://ufldl.stanford.edu/housenumbers/ and put them into that folder, or set `root:` to the "
    "folder that holds them."
)


class Options(RootOptions):
    """Options of SVHN: the folder of its files."""


def load(options: Options) -> Dataset:
    """Return SVHN in file order; torchvision changes the label of digit 0 from 10 to 0."""
    mean, std = (0.4377, 0.4438, 0.4728), (0.1980, 0.2010, 0.1970)
    return load_set("SVHN", options, HOW, mean, std)

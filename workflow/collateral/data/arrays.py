"""A user's own images, from one .npz file, or from one train file and one test file.

One file has train_images, train_labels, test_images, test_labels. Two files have images and labels,
or X and y, each. `class_names` in the train file is optional (default: class_0, class_1, ...).
Images are (N, H, W), (N, H, W, 1) or (N, H, W, 3), uint8, or floats in [0, 1], which are rounded to
the nearest of 256 values. Labels are integers from 0. Normalisation is computed from the train set.
Other arrays with one whole number or text per train image are metadata columns (`kind: where`,
`groups`); those of the test set are in its own file, or have names such as test_sex.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from collateral.contract.conventions import Columns
from collateral.contract.data import DataOptions, DatasetInfo, DatasetSize
from collateral.contract.params import UserPath

if TYPE_CHECKING:
    from collateral.data._readers.pieces import DatasetInPieces
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")


class Options(DataOptions):
    """Options of a data set in .npz files: the files, and the augmentation of the images."""

    path: UserPath = Field(
        description="The .npz file with both sets, or only with the train set if `test_path` is "
        "given."
    )
    test_path: UserPath | None = Field(
        None, description="The .npz file with the test set. Default: it is in the file `path`."
    )
    flip: bool = Field(
        False, description="Whether training images are flipped horizontally at random."
    )
    padding: int = Field(
        0,
        ge=0,
        le=256,
        description="Number of black pixels added on each side of a training image before it is "
        "cropped at random to its size. 0: no random crops.",
    )


def size(options: Options) -> DatasetSize:
    """Return the number of examples per class; no image is read."""
    from collateral.data._readers.npz import read_examples, read_parts

    train, test = read_parts(options.path, options.test_path)
    height, width, channels = (*train.shape[1:], 1)[:3]
    return read_examples(train, test).size((height, width, channels))


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels and the metadata columns of the train set."""
    from collateral.data._readers.npz import read_examples, read_parts

    parts = read_parts(options.path, options.test_path)
    return read_examples(*parts).read_part(test=False)


def test_columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels and the metadata columns of the test set."""
    from collateral.data._readers.npz import read_examples, read_parts

    parts = read_parts(options.path, options.test_path)
    return read_examples(*parts).read_part(test=True)


def open_pieces(options: Options) -> DatasetInPieces:
    """Open the user's images in the order of their file; they are read once to normalise them."""
    from collateral.data._readers.npz import open_images, read_examples, read_parts
    from collateral.data._readers.pieces import DatasetInPieces
    from collateral.data._readers.pixels import ChannelSums

    parts = read_parts(options.path, options.test_path)
    train, test = map(open_images, parts)
    if train.shape[1:] != test.shape[1:]:
        raise parts[1].wrong(parts[1].images_key, test.shape, f"(N, H, W, C) as {train.shape}")
    examples = read_examples(*parts)
    examples.check("data.path")
    sums = ChannelSums()
    for images in train:
        sums.add(images)
    normalisation = sums.statistics()  # of all train images, also of those that are left out
    labels = examples.split_labels()
    return DatasetInPieces(
        train, test, labels, *normalisation, padding=options.padding, flip=options.flip
    )


def load(options: Options) -> Dataset:
    """Load all images into memory."""
    return open_pieces(options).read()

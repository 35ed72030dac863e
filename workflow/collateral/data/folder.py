"""A folder of images by class: `train/` and `test/` (or `val/`), or one tree and a `test_share`.

Files are sorted by their paths, which are kept: a forget set may list them (`kind: files`), or name
values in a `table` of them (`kind: where`). Every image is scaled so that its short side is `size`,
and its centre is cut out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from collateral.contract.columns import Columns
from collateral.contract.data import (
    Broken,
    DataOptions,
    DatasetInfo,
    DatasetSize,
    Flip,
    Padding,
    Side,
    TestBy,
    TestSeed,
    TestShare,
)
from collateral.contract.params import UserPath
from collateral.data._reading.listing import ListedFile, Tree, known_names, known_tree, tree_of
from collateral.data._reading.test_set import Source
from collateral.data.forget import where

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset, Labels

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")


class Options(DataOptions):
    """Where the images are, and how they are read."""

    path: UserPath = Field(description="The folder; in it, or in its train/, a folder a class.")
    size: Side = 64
    table: UserPath | None = Field(
        None,
        description="A CSV file with a column `file` (paths below the folder), one row per image; "
        "its other columns are for `kind: where`.",
    )
    test_path: UserPath | None = Field(
        None,
        description="The test set, if `path` has none: another folder with a folder a class, or a "
        "list of files below `path`, one a line.",
    )
    test_share: TestShare = None
    test_seed: TestSeed = 0
    test_by: TestBy = None
    train_list: UserPath | None = Field(
        None,
        description="A list of files, one a line, that `test_share` leaves in the train set: those "
        "to be forgotten.",
    )
    train_where: where.TrainWhere = None
    broken: Broken = "refuse"
    flip: Flip = False
    padding: Padding = 0


def class_names(options: Options) -> tuple[str, ...] | None:
    """Return the names of the classes' folders."""
    return known_names(options.path)


def problem(options: Options) -> str | None:
    """Return what is wrong with the folder, as far as names tell."""
    try:
        _known(options)
    except ValueError as error:
        return str(error)
    return None


def inputs(_options: Options) -> list[Path]:
    """Return nothing: files are too many, and `<script>` in a name means something to Snakemake."""
    return []


def state(options: Options) -> str:
    """Return a hash of the files' names, sizes and times; nothing where the folder is not there."""
    return "" if problem(options) else _known(options).state


def size(options: Options) -> DatasetSize:
    """Return how many files there are; of colours a few files tell."""
    from collateral.data._reading.decoding import num_channels

    tree = _known(options)
    files = tree.locations[: len(tree.train)]
    shape = (options.size, options.size, num_channels(files))
    return DatasetSize(tree.class_names, tree.counts(tree.train), tree.counts(tree.test), shape)


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return the train examples' labels, their files, and the columns of the table."""
    tree = _known(options)
    return tree.labels(tree.train), tree.columns(tree.train)


def load(options: Options) -> Dataset:
    """Return the images in the order of their paths, and say what was left out or changed."""
    from collateral.data._reading.decoding import decode
    from collateral.data._reading.pixels import statistics
    from collateral.results.dataset import Dataset

    tree = tree_of(_source(options))
    _tell_left_out(tree)
    files = (*tree.train, *tree.test)
    decoded = decode(
        tree.locations,
        [file.path for file in files],
        options.size,
        skip_broken=options.broken == "skip",
    )
    kept = [files[place] for place in decoded.kept]
    num_train = sum(place < len(tree.train) for place in decoded.kept)
    train, test = decoded.images[:num_train], decoded.images[num_train:]
    labels = _labels(tree, kept[:num_train], kept[num_train:])
    mean, std = statistics(train)
    return Dataset(train, test, labels, mean, std, options.padding, options.flip)


def _known(options: Options) -> Tree:
    return known_tree(_source(options))


def _source(options: Options) -> Source:
    return Source(
        options.path,
        options.table,
        options.test_path,
        options.test_share,
        options.test_seed,
        options.test_by,
        options.train_list,
        tuple((options.train_where or {}).items()),
    )


def _labels(tree: Tree, train: Sequence[ListedFile], test: Sequence[ListedFile]) -> Labels:
    import numpy as np

    from collateral.results.dataset import Labels

    if lost := [
        name for name, n in zip(tree.class_names, tree.counts(train), strict=True) if not n
    ]:
        raise ValueError(f"data.broken: skip: no image of class {lost[0]!r} can be read")
    if not test:
        raise ValueError("data.broken: skip: no image of the test set can be read")
    of_train, of_test = (np.array(tree.labels(part), np.int64) for part in (train, test))
    columns = [
        {name: np.array(values) for name, values in tree.columns(part).items()}
        for part in (train, test)
    ]
    return Labels(of_train, of_test, tree.class_names, *columns)


def _tell_left_out(tree: Tree) -> None:
    if tree.left_out:
        listed = ", ".join(map(repr, tree.left_out[:3])) + ", ..." * (len(tree.left_out) > 3)
        print(f"left out {len(tree.left_out):,} files, by name no images of a class: {listed}")
    if tree.hidden:
        listed = ", ".join(map(repr, tree.hidden[:3])) + ", ..." * (len(tree.hidden) > 3)
        print(f"left out {len(tree.hidden):,} hidden files and folders: {listed}")
    for name in tree.unused:
        print(f"left out {name}: another folder is the test set")

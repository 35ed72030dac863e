"""A folder of images by class: `train/` and `test/` (or `val/`), or one tree and a `test_share`.

Files are sorted by their paths. A forget set may list these paths (`kind: files`), or values of a
column in a `table` of the files (`kind: where`). The short side of every image is scaled to `size`,
and the centre is cropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from collateral.contract.classes import Columns
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
from collateral.data._readers.image_folder import (
    FolderIndex,
    find_class_folders,
    index_folder,
    known_tree,
)
from collateral.data._readers.test_set import SplitOptions
from collateral.data.forget import where

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")


class Options(DataOptions):
    """The folder, its test set, and the size of the images."""

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
    """Return the names of the class folders."""
    return find_class_folders(options.path)


def problem(options: Options) -> str | None:
    """Return an error that the names of the files already show."""
    try:
        _index(options)
    except ValueError as error:
        return str(error)
    return None


def inputs(_options: Options) -> list[Path]:
    """Return no file: there are too many, and `<script>` in a name has a meaning for Snakemake."""
    return []


def state(options: Options) -> str:
    """Return a hash of names, sizes and times of the files; empty if the folder is missing."""
    return "" if problem(options) else _index(options).state


def size(options: Options) -> DatasetSize:
    """Return the number of files per class; some files show whether the images have colours."""
    from collateral.data._readers.decoding import num_channels

    tree = _index(options)
    channels = num_channels(tree.locations[: len(tree.train)])
    return tree.examples.size((options.size, options.size, channels))


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return labels, files and columns of the table, for the train set."""
    return _index(options).examples.train_columns()


def load(options: Options) -> Dataset:
    """Return the images in the order of their paths; print what was left out or converted."""
    tree = index_folder(SplitOptions.select(options))
    _print_left_out(tree)
    image_options = options.size, options.broken, options.padding, options.flip
    return tree.examples.load(tree.locations, *image_options)


def _index(options: Options) -> FolderIndex:
    return known_tree(SplitOptions.select(options))


def _print_left_out(tree: FolderIndex) -> None:
    for paths, kind in (
        (tree.left_out, "files, by name no images of a class"),
        (tree.hidden, "hidden files and folders"),
    ):
        if paths:
            listed = ", ".join(map(repr, paths[:3])) + ", ..." * (len(paths) > 3)
            print(f"left out {len(paths):,} {kind}: {listed}")
    for name in tree.unused:
        print(f"left out {name}: another folder is the test set")

"""Folders of images by class: `train/` and `test/` (or `val/`), or one tree and a `test_share`.

Files are sorted by their paths. A forget set may list these paths (`kind: files`), or values of a
column in a `table` of the files (`kind: where`). The short side of every image is scaled to `size`,
and the centre is cropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from collateral.contract.conventions import Columns
from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.data._readers.image_folder import (
    FolderIndex,
    cached_index,
    find_class_folders,
    index_folder,
)
from collateral.data._readers.test_set import FolderOptions as Options

if TYPE_CHECKING:
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")


def class_names(options: Options) -> tuple[str, ...] | None:
    """Return the names of the class folders."""
    return find_class_folders(options.path)


def problem(options: Options) -> str | None:
    """Return the error in the names of the files, or None; no file is opened."""
    try:
        cached_index(options)
    except ValueError as error:
        return str(error)
    return None


def inputs(_options: Options) -> list[Path]:
    """Return no inputs of the Snakemake rule: images are too many, and some names are forbidden."""
    return []


def state(options: Options) -> str:
    """Return a hash of names, sizes and times of the files; "" if the folder is missing."""
    return "" if problem(options) else cached_index(options).state


def size(options: Options) -> DatasetSize:
    """Return numbers of images per class, and the image shape; a sample decides grey or RGB."""
    from collateral.data._readers.decoding import num_channels

    tree = cached_index(options)
    channels = num_channels(tree.locations[: len(tree.train)])
    return tree.examples.size((options.size, options.size, channels))


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return labels, paths and table columns of the train set."""
    return cached_index(options).examples.train_columns()


def load(options: Options) -> Dataset:
    """Return the images in the order of their paths; print which were skipped or converted."""
    tree = index_folder(options)
    _print_left_out(tree)
    return tree.examples.load(tree.locations, options)


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

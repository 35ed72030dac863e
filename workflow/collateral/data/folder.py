"""Folders of images by class: `train/` and `test/` (or `val/`), or one tree and a `test_share`.

Files are sorted by their paths. A forget set may list these paths (`kind: files`), or values of a
column in a `table` of the files (`kind: where`). The short side of every image is scaled to `size`,
and the centre is cropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from collateral.contract.conventions import FILE, Columns, class_index
from collateral.contract.data import DatasetInfo, DatasetSize
from collateral.contract.messages import listed, looked_for
from collateral.contract.params import UserPath
from collateral.data._readers.examples import Examples, ImageFileOptions, join_columns
from collateral.data._readers.file_list import (
    ListedFile,
    find_listed,
    list_class_folders,
    list_files,
    read_table,
)

if TYPE_CHECKING:
    from collateral.data._readers.pieces import DatasetInPieces
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")
TRAIN = "train"
TESTS = ("test", "val", "valid", "validation")  # possible names of the test folder, by preference
# Folder names that are never class names; "valid" may be the name of a class.
PARTS = (TRAIN, "test", "val", "validation")


class Options(ImageFileOptions):
    """Options of a folder of images: its path, its table, its test set, and the image size."""

    path: UserPath = Field(description="The folder; in it, or in its train/, a folder a class.")
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
    train_list: UserPath | None = Field(
        None,
        description="A list of files, one a line, that `test_share` leaves in the train set: those "
        "to be forgotten.",
    )


@dataclass(frozen=True)
class FolderIndex:
    """The images of a folder: first the train set, then the test set, each sorted by path."""

    examples: Examples
    locations: list[Path]
    # Ignored are hidden paths, files without an image suffix or outside of class folders,
    # and further test folders.
    left_out: list[str]
    state: str  # hash of the images' paths, sizes and modification times, and of the table


@cache  # because the plan needs the same index several times
def index_folder(options: Options) -> FolderIndex:
    """List the images of a folder without opening them; an error is one line with a config key."""
    folder = options.path.expanduser()
    if not folder.is_dir():
        raise ValueError(f"data.path: there is no folder {str(folder)!r}{looked_for(folder)}")
    top = TRAIN if (folder / TRAIN).is_dir() else ""
    tests = [name for name in TESTS if top and (folder / name).is_dir()]
    _check_test_options(options, folder, tests)
    test_folder = folder / tests[0] if tests else _find_test_folder(options, folder)
    train, left_out = list_files(folder, top)
    test, more = list_files(test_folder.parent, test_folder.name) if test_folder else ([], [])
    examples = _list_examples(options, list_class_folders(folder / top), train, test)
    if not test_folder:
        examples = _choose_test_set(options, examples)
    # If there are two class folders or more, and each has images, the fault is in `test_path`.
    is_complete = len({file.class_name for file in train}) == len(examples.class_names) > 1
    examples.check("data.test_path" if options.test_path and is_complete else "data.path")
    files, order = [*train, *test], [*examples.rows(test=False), *examples.rows(test=True)]
    examples, files = examples.take(order), [files[row] for row in order]
    left_out = [path for path in left_out if not _is_table(options, folder / path)]
    left_out += [*more, *(f"{name}/" for name in tests[1:])]
    locations, state = [file.location for file in files], _hash_files(examples, files)
    return FolderIndex(examples, locations, left_out, state)


def _check_test_options(options: Options, folder: Path, tests: Sequence[str]) -> None:
    """Raise unless one test set is given; raise if a class folder is named `test` or `val`."""
    names = [] if tests else list_class_folders(folder)
    if wrong := [name for name in names if name.lower() in PARTS and name != TRAIN]:
        raise ValueError(
            f"data.path: {str(folder)!r}: {listed('no names of classes', wrong)}; rename to "
            f"{TRAIN}/, {TESTS[0]}/"
        )
    keys = [key for key in ("test_share", "test_path") if getattr(options, key) is not None]
    given = [*(f"{name}/" for name in tests[:1]), *keys]
    if len(given) != 1:
        raise ValueError(
            f"data.{(*keys, 'path')[0]}: {str(folder)!r}: {listed('test set', given)}; expected "
            f"exactly one of {TRAIN}/ with {TESTS[0]}/, `test_share` (such as 0.2) and `test_path`"
        )


def _find_test_folder(options: Options, folder: Path) -> Path | None:
    """Return the folder that `test_path` names; None if `test_path` is not given or no folder."""
    path = options.test_path.expanduser() if options.test_path else None
    if path is None or not path.is_dir():
        return None
    if path.resolve().is_relative_to(folder.resolve()):
        problem = "lies inside `path`, where its folders would be classes; move it"
        raise ValueError(f"data.test_path: {str(path)!r}: {problem}")
    return path


def _list_examples(
    options: Options, names: Sequence[str], train: list[ListedFile], test: list[ListedFile]
) -> Examples:
    """Return the examples, first train and then test files, with metadata from the table."""
    files = [*train, *test]
    try:
        label = {name: class_index(name, names) for name in {file.class_name for file in files}}
    except ValueError as error:
        key = "data.test_path" if options.test_path else "data.path"
        raise ValueError(f"{key}: in the test set: {error}") from None
    paths = [file.path for file in files]
    columns: Columns = {}
    if options.table is not None:
        # If `test_path` is another folder, the table has no rows for its images.
        rows = len(train) if options.test_path else len(files)
        table = read_table(options.table, paths[:rows])
        columns = join_columns(table, rows, {}, len(files) - rows)
    is_test = [row >= len(train) for row in range(len(files))]
    labels = [label[file.class_name] for file in files]
    return Examples(tuple(names), labels, is_test, paths, {FILE: paths, **columns})


def _choose_test_set(options: Options, examples: Examples) -> Examples:
    """Mark the test set: the files in the list `test_path`, or a random part of every class."""
    if options.test_path is not None:
        rows = {*find_listed("data.test_path", options.test_path, examples.names)}
        return replace(examples, is_test=[row in rows for row in range(len(examples.names))])
    stay = list[int]()
    if options.train_list is not None:
        stay = find_listed("data.train_list", options.train_list, examples.names)
    return examples.draw_test_set(examples.names, options, stay)


def _is_table(options: Options, path: Path) -> bool:
    """Return whether a file is the table of the images."""
    table = options.table.expanduser() if options.table else None
    return table is not None and table.name == path.name and table.samefile(path)


def _hash_files(examples: Examples, files: Sequence[ListedFile]) -> str:
    """Return a hash of the files' paths, sizes, modification times and table values."""
    columns = {name: values for name, values in examples.columns.items() if name != FILE}
    content = [str(len(examples.rows(test=False))), *columns]
    for row, file in enumerate(files):
        values = [column[row] for column in columns.values() if column[row] is not None]
        content += [file.path, file.state, *values]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()[:16]


def class_names(options: Options) -> tuple[str, ...] | None:
    """Return the names of the class folders, or None if there are no class folders."""
    folder = options.path.expanduser()
    top = folder / TRAIN if (folder / TRAIN).is_dir() else folder
    return tuple(list_class_folders(top)) or None if top.is_dir() else None


def problem(options: Options) -> str | None:
    """Return an error message about the folder and its lists, or None. No image is opened."""
    try:
        index_folder(options)
    except ValueError as error:
        return str(error)
    return None


def inputs(_options: Options) -> list[Path]:
    """Return no input files for Snakemake: there are too many images, and it forbids some names."""
    return []


def state(options: Options) -> str:
    """Return a hash of the image files and of the table; "" if `problem` finds an error."""
    return "" if problem(options) else index_folder(options).state


def size(options: Options) -> DatasetSize:
    """Return the numbers of images per class, and their shape; a sample tells if they are grey."""
    from collateral.data._readers.decoding import num_channels

    index = index_folder(options)
    channels = num_channels(index.locations[: len(index.examples.rows(test=False))])
    return index.examples.size((options.size, options.size, channels))


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels, the image paths and the table columns of the train set."""
    return index_folder(options).examples.read_part(test=False)


def test_columns(options: Options) -> tuple[list[int], Columns]:
    """Return the labels, the image paths and the table columns of the test set."""
    return index_folder(options).examples.read_part(test=True)


def open_pieces(options: Options) -> DatasetInPieces:
    """Open the images in the order of their paths; print how many were skipped or converted."""
    index = index_folder(options)
    if index.left_out:
        print(listed(f"left out {len(index.left_out):,} files and folders", index.left_out))
    return index.examples.open_pieces(lambda: index.locations, options)


def load(options: Options) -> Dataset:
    """Load all images into memory."""
    return open_pieces(options).read()

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
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")
TRAIN = "train"
TESTS = ("test", "val", "valid", "validation")  # names of the test folder, in order of preference
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

    def __hash__(self) -> int:
        """Return a hash of all values as JSON, because the dictionary `train_where` has no hash."""
        return hash(self.model_dump_json())


@dataclass(frozen=True)
class FolderIndex:
    """The images of a folder: those of the train set, then of the test set, sorted by path."""

    examples: Examples
    locations: list[Path]
    # Ignored paths: hidden, no image by their names, in no class folder, or a second test folder.
    left_out: list[str]
    state: str  # hash of the paths, sizes and modification times of all files


@cache  # because the plan needs the same index several times
def index_folder(options: Options) -> FolderIndex:
    """Index a folder without opening an image; an error is one line with the config key."""
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
    examples.check("data.path")
    order = [*examples.rows(test=False), *examples.rows(test=True)]
    files = [(*train, *test)[row] for row in order]
    examples = examples.take(order)
    unused = [f"{name}/" for name in tests[1:]]
    state = _hash_files(examples, files)
    return FolderIndex(
        examples, [file.location for file in files], [*left_out, *more, *unused], state
    )


def _check_test_options(options: Options, folder: Path, tests: Sequence[str]) -> None:
    """Raise if the test set is not given in exactly one way, or if its folder seems a class."""
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
    """Return the folder that `test_path` names; None if `test_path` is missing or is a list."""
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
    """Return the examples of the train files, then of the test files, with columns of the table."""
    files = [*train, *test]
    try:
        label = {name: class_index(name, names) for name in {file.class_name for file in files}}
    except ValueError as error:
        raise ValueError(f"data.path: in the test set: {error}") from None
    paths = [file.path for file in files]
    columns: Columns = {}
    if options.table is not None:
        # A test set elsewhere is not in the table.
        rows = len(train) if options.test_path else len(files)
        table = read_table(options.table, paths[:rows])
        columns = join_columns(table, rows, {}, len(files) - rows)
    is_test = [row >= len(train) for row in range(len(files))]
    labels = [label[file.class_name] for file in files]
    return Examples(tuple(names), labels, is_test, paths, {FILE: paths, **columns})


def _choose_test_set(options: Options, examples: Examples) -> Examples:
    """Make the files in the list `test_path` the test set, or draw a fraction of every class."""
    if options.test_path is not None:
        rows = {*find_listed("data.test_path", options.test_path, examples.names)}
        return replace(examples, is_test=[row in rows for row in range(len(examples.names))])
    stay = list[int]()
    if options.train_list is not None:
        stay = find_listed("data.train_list", options.train_list, examples.names)
    return examples.draw_test_set(examples.names, options, stay)


def _hash_files(examples: Examples, files: Sequence[ListedFile]) -> str:
    """Return a hash of paths, sizes, modification times and values in the table."""
    columns = {name: values for name, values in examples.columns.items() if name != FILE}
    content = [str(len(examples.rows(test=False))), *columns]
    for row, file in enumerate(files):
        values = [column[row] for column in columns.values() if column[row] is not None]
        content += [file.path, file.state, *values]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()[:16]


def class_names(options: Options) -> tuple[str, ...] | None:
    """Return the names of the class folders; None if there are none."""
    folder = options.path.expanduser()
    top = folder / TRAIN if (folder / TRAIN).is_dir() else folder
    return tuple(list_class_folders(top)) or None if top.is_dir() else None


def problem(options: Options) -> str | None:
    """Return the error in the names of the files, or None; no file is opened."""
    try:
        index_folder(options)
    except ValueError as error:
        return str(error)
    return None


def inputs(_options: Options) -> list[Path]:
    """Return no inputs of the Snakemake rule: images are too many, and some names are forbidden."""
    return []


def state(options: Options) -> str:
    """Return a hash of names, sizes and times of the files; "" if the folder is missing."""
    return "" if problem(options) else index_folder(options).state


def size(options: Options) -> DatasetSize:
    """Return numbers of images per class, and the image shape; a sample decides grey or RGB."""
    from collateral.data._readers.decoding import num_channels

    index = index_folder(options)
    channels = num_channels(index.locations[: len(index.examples.rows(test=False))])
    return index.examples.size((options.size, options.size, channels))


def columns(options: Options) -> tuple[list[int], Columns]:
    """Return labels, paths and table columns of the train set."""
    return index_folder(options).examples.read_part(test=False)


def load(options: Options) -> Dataset:
    """Return the images in the order of their paths; print which were skipped or converted."""
    index = index_folder(options)
    if index.left_out:
        print(listed(f"left out {len(index.left_out):,} files and folders", index.left_out))
    return index.examples.load(index.locations, options)

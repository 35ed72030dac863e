"""Folders of images by class: `train/` and `test/` (or `val/`), or one tree and a `test_share`.

In place of folders of classes, files of labels may name the images (`labels`, `test_labels`).
Files are sorted by their paths. A forget set may list these paths (`kind: files`), or values of a
column in a `table` of the files (`kind: where`). The short side of every image is scaled to `size`,
and the centre is cropped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

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
from collateral.data._readers.label_file import (
    TESTS,
    TRAIN,
    LabelledFiles,
    read_label_file,
    sort_classes,
)

if TYPE_CHECKING:
    from collateral.data._readers.pieces import DatasetInPieces
    from collateral.results.dataset import Dataset

INFO = DatasetInfo(class_names=None, source="the user's files", licence="the user's")
# Folder names that are never class names; "valid" may be the name of a class.
PARTS = (TRAIN, "test", "val", "validation")
# Names of folders such as `train_images`.
IMAGES_OF_PART = re.compile(
    r"(train|test|val|valid|validation)(ing)?[ _.-]?"
    r"(images?|imgs?|data|dataset|set|files|pictures|photos|faces|jpe?gs?|pngs?)",
    re.IGNORECASE,
)
TEST_KEYS = ("test_share", "test_path", "test_labels")  # options that give a test set


class Options(ImageFileOptions):
    """Options of a folder of images: its path, its table, its test set, and the image size."""

    path: UserPath = Field(
        description="Folder with the images: one subfolder per class, either directly in it or in "
        "its subfolder train/."
    )
    table: UserPath | None = Field(
        None,
        description="CSV file with metadata, one row per image. The column `file` contains the "
        "path below the folder; the other columns can select forget sets of kind `where`.",
    )
    test_path: UserPath | None = Field(
        None,
        description="Test set, if `path` contains none. A second folder with one subfolder per "
        "class, or a text file that lists files below `path`, one per line.",
    )
    train_list: UserPath | None = Field(
        None,
        description="Text file that lists images that `test_share` must leave in the train set, "
        "one per line: those that you want to forget.",
    )
    labels: UserPath | None = Field(
        None,
        description="In place of a folder per class: a CSV or TSV file with the columns `file` and "
        "`label`, one row per image. A column `part` (train, test) gives the test set. Other "
        "columns are for `kind: where`.",
    )
    test_labels: UserPath | None = Field(None, description="The same file for the test set alone.")
    file_column: str = Field("file", description="Name of the column of files in label files.")
    label_column: str = Field("label", description="Name of the column of labels in label files.")

    @model_validator(mode="after")
    def _check_label_files(self) -> Options:
        """Raise if a column of a label file is named, and there is no label file."""
        for key in ("file_column", "label_column"):
            if key in self.model_fields_set and not (self.labels or self.test_labels):
                raise ValueError(f"`{key}` goes with `labels` or `test_labels`; leave it out")
        return self


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
    found = (
        _find_labelled(options, folder)
        if _has_label_file(options)
        else _find_by_class(options, folder)
    )
    examples = _list_examples(options, found)
    if not found.has_test_set:
        examples = _choose_test_set(options, examples)
    # If there are two class folders or more, and each has images, the fault is in `test_path`.
    is_complete = len({file.class_name for file in found.train}) == len(examples.class_names) > 1
    is_test_wrong = found.test_key != "data.path" and is_complete
    examples.check(found.test_key if is_test_wrong else found.key)
    files = [*found.train, *found.test]
    order = [*examples.rows(test=False), *examples.rows(test=True)]
    examples, files = examples.take(order), [files[row] for row in order]
    left_out = [path for path in found.left_out if not _is_read(options, folder / path)]
    locations, state = [file.location for file in files], _hash_files(options, examples, files)
    return FolderIndex(examples, locations, left_out, state)


@dataclass(frozen=True)
class Found:
    """The files of a folder before a test set is chosen."""

    names: list[str]  # names of the classes
    train: list[ListedFile]
    test: list[ListedFile]
    left_out: list[str]
    has_test_set: bool
    columns: Columns = field(default_factory=dict)  # metadata of train, then of test files
    key: str = "data.path"  # config key to blame if something is wrong with the classes
    test_key: str = "data.path"  # the same for the test set


def _find_by_class(options: Options, folder: Path) -> Found:
    """List the files in the folders of classes."""
    top = _find_top(folder)
    tests = [name for name in TESTS if top and (folder / name).is_dir()]
    _check_test_options(options, folder, tests)
    test_folder = folder / tests[0] if tests else _find_test_folder(options, folder)
    train, left_out = list_files(folder, top)
    test, more = list_files(test_folder.parent, test_folder.name) if test_folder else ([], [])
    left_out += [*more, *(f"{name}/" for name in tests[1:])]
    key = "data.test_path" if options.test_path else "data.path"
    names = list_class_folders(folder / top)
    return Found(names, train, test, left_out, bool(test_folder), test_key=key)


def _find_labelled(options: Options, folder: Path) -> Found:
    """List the files that label files name; without `labels`, train files are in class folders."""
    files, left_out = list_files(folder, "", by_class=False)
    columns = options.file_column, options.label_column
    empty = LabelledFiles([], {})
    train, test, top = empty, empty, _find_top(folder)
    if options.labels is not None:
        train = read_label_file("data.labels", options.labels, files, columns, is_test=False)
    elif not top:
        raise ValueError(
            f"data.test_labels: {str(folder)!r} has no {TRAIN}/ with a folder per class; give the "
            "train set too, by `labels`"
        )
    else:
        train = LabelledFiles(list_files(folder, top)[0], {})
    keys = [key for key in TEST_KEYS if getattr(options, key) is not None]
    if options.test_labels is not None:
        outside = [file for file in files if not top or not file.path.startswith(f"{top}/")]
        others = files if options.labels else outside
        test = read_label_file(
            "data.test_labels", options.test_labels, others, columns, is_test=True
        )
    elif not keys and (parts := train.find_parts()):
        train, test = parts
        keys = ["part"]
    if len(keys) != 1:
        raise ValueError(
            f"data.{(*keys, 'labels')[0]}: {listed('test set', keys)}; expected exactly one of "
            "`test_labels`, `test_share` (such as 0.2), `test_path` (a list of files), and a "
            "column `part` with train and test"
        )
    if both := {file.path for file in train.files} & {file.path for file in test.files}:
        raise ValueError(f"data.test_labels: {listed('files of the train set too', sorted(both))}")
    used = {file.path for file in (*train.files, *test.files)}
    left_out = sorted([*left_out, *(file.path for file in files if file.path not in used)])
    names = sort_classes({file.class_name for file in train.files})
    return Found(
        names if options.labels else list_class_folders(folder / top),
        train.files,
        test.files,
        left_out,
        bool(test.files),
        join_columns(train.columns, len(train.files), test.columns, len(test.files)),
        "data.labels" if options.labels else "data.path",
        "data.test_labels" if options.test_labels else "data.labels",
    )


def _has_label_file(options: Options) -> bool:
    return options.labels is not None or options.test_labels is not None


def _find_top(folder: Path) -> str:
    """Return "train" if the folder has such a folder, else "", for the folder itself."""
    return TRAIN if (folder / TRAIN).is_dir() else ""


def _check_test_options(options: Options, folder: Path, tests: Sequence[str]) -> None:
    """Raise unless one test set is given; raise if a class folder is named `test` or `val`."""
    names = [] if tests else list_class_folders(folder)
    _check_names_of_parts(folder, names)
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


def _check_names_of_parts(folder: Path, names: Sequence[str]) -> None:
    """Raise if folders such as `train_images` beside CSV files would be taken for classes."""
    if wrong := [name for name in names if IMAGES_OF_PART.fullmatch(name)]:
        tables = sorted(path.name for path in folder.iterdir() if path.suffix in (".csv", ".tsv"))
        if tables:
            raise ValueError(
                f"data.path: {str(folder)!r}: {listed('no names of classes', wrong)}; beside them "
                f"{listed('tables', tables)}: give those with the labels, by `labels` and "
                "`test_labels` (docs/your-data.md)"
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


def _list_examples(options: Options, found: Found) -> Examples:
    """Return the examples, first train and then test files, with their metadata."""
    names, train = found.names, found.train
    files = [*train, *found.test]
    try:
        label = {name: class_index(name, names) for name in {file.class_name for file in files}}
    except ValueError as error:
        is_other = {file.class_name for file in found.test}.isdisjoint(names)
        hint = "; if a file lists the labels of the test images, give it by `test_labels`"
        raise ValueError(
            f"{found.test_key}: in the test set: {error}{hint if is_other else ''}"
        ) from None
    paths = [file.path for file in files]
    columns = {FILE: paths, **{n: column for n, column in found.columns.items() if n != FILE}}
    if options.table is not None:
        # If `test_path` is another folder, the table has no rows for its images.
        rows = len(train) if options.test_path else len(files)
        table = read_table(options.table, paths[:rows])
        columns |= join_columns(table, rows, {}, len(files) - rows)
    is_test = [row >= len(train) for row in range(len(files))]
    labels = [label[file.class_name] for file in files]
    return Examples(tuple(names), labels, is_test, paths, columns)


def _choose_test_set(options: Options, examples: Examples) -> Examples:
    """Mark the test set: the files in the list `test_path`, or a random part of every class."""
    if options.test_path is not None:
        rows = {*find_listed("data.test_path", options.test_path, examples.names)}
        return replace(examples, is_test=[row in rows for row in range(len(examples.names))])
    stay = list[int]()
    if options.train_list is not None:
        stay = find_listed("data.train_list", options.train_list, examples.names)
    return examples.draw_test_set(examples.names, options, stay)


def _is_read(options: Options, path: Path) -> bool:
    """Return whether a file is the table of the images, or one of their labels."""
    given = (options.table, options.labels, options.test_labels)
    tables = [table.expanduser() for table in given if table]
    return any(table.name == path.name and table.samefile(path) for table in tables)


def _hash_files(options: Options, examples: Examples, files: Sequence[ListedFile]) -> str:
    """Return a hash of the files' paths, sizes, modification times, labels and table values."""
    columns = {name: values for name, values in examples.columns.items() if name != FILE}
    content = [str(len(examples.rows(test=False))), *columns]
    for row, file in enumerate(files):
        values = [column[row] for column in columns.values() if column[row] is not None]
        # Without a label file, the path tells the label.
        label = [file.class_name] if _has_label_file(options) else []
        content += [file.path, file.state, *label, *values]
    return hashlib.sha256("\0".join(content).encode()).hexdigest()[:16]


def class_names(options: Options) -> tuple[str, ...] | None:
    """Return the names of the classes, or None if there are no class folders and no label file."""
    folder = options.path.expanduser()
    if options.labels is not None:  # `problem` reports an error of the files
        return None if problem(options) else index_folder(options).examples.class_names
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
    return index.examples.size((*options.shape, channels), options.size)


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

"""The index of a folder of images: paths, classes and sizes of the files; no image is opened.

`train/` and `test/` (or `val/`) have one folder per class. Alternatively the folder itself has one
folder per class, and the test set is another folder, a list of files, or a fraction of every class.
A table may add metadata columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from collateral.contract.conventions import FILE
from collateral.contract.messages import did_you_mean, looked_for, quoted
from collateral.data._readers import file_list
from collateral.data._readers.examples import Examples
from collateral.data._readers.file_list import ListedFile, Listing
from collateral.data._readers.test_set import FolderOptions, find_test_files

TRAIN = "train"
TESTS = ("test", "val", "valid", "validation")  # names of the test folder, in order of preference
# Folder names that are never class names; "valid" may be the name of a class.
PARTS = (TRAIN, "test", "val", "validation")


@dataclass(frozen=True)
class FolderIndex:
    """The images of a folder in a fixed order: sorted by their paths."""

    folder: Path
    class_names: tuple[str, ...]
    train: tuple[ListedFile, ...]
    test: tuple[ListedFile, ...]
    # Paths of ignored files: their suffix is not of an image, or they are in no class folder.
    left_out: tuple[str, ...]
    unused: tuple[str, ...] = ()  # ignored folders, such as val/ if there is a test/
    hidden: tuple[str, ...] = ()  # ignored hidden files and folders
    column_names: tuple[str, ...] = ()  # columns of the table other than `file`
    # Folder that the paths of test images are relative to; None for `folder`.
    test_folder: Path | None = None

    @property
    def state(self) -> str:
        """A hash of the paths, sizes and modification times of all files."""
        files = (*self.train, *self.test)
        listed = [
            "\0".join([file.path, str(file.num_bytes), str(file.changed), *file.values])
            for file in files
        ]
        content = [str(len(self.train)), *self.column_names, *listed]
        return hashlib.sha256("\0".join(content).encode()).hexdigest()[:16]

    @property
    def locations(self) -> list[Path]:
        """Paths of the train files, then of the test files."""
        test_folder = self.test_folder or self.folder
        train = [self.folder / file.path for file in self.train]
        return [*train, *(test_folder / file.path for file in self.test)]

    @property
    def examples(self) -> Examples:
        """The examples: the train files, then the test files, with labels and columns."""
        files = (*self.train, *self.test)
        label = {name: index for index, name in enumerate(self.class_names)}
        return Examples(
            self.class_names,
            [label[file.class_name] for file in files],
            [row >= len(self.train) for row in range(len(files))],
            [file.path for file in files],
            lambda rows: self._columns([files[row] for row in rows]),
        )

    def _columns(self, files: Sequence[ListedFile]) -> dict[str, list[str]]:
        """Return the paths of some files, and their metadata columns if the table has any."""
        found = {FILE: [file.path for file in files]}
        if all(file.values for file in files):
            further = enumerate(self.column_names)
            found |= {name: [file.values[place] for file in files] for place, name in further}
        return found


def index_folder(source: FolderOptions) -> FolderIndex:
    """Index a folder; an error is one line that starts with the key of the config."""
    folder = source.path.expanduser()
    if not folder.is_dir():
        raise ValueError(f"data.path: there is no folder {str(folder)!r}{looked_for(folder)}")
    test = next((name for name in TESTS if (folder / name).is_dir()), None)
    top = TRAIN if (folder / TRAIN).is_dir() else ""
    if test is None or not top:
        _check_parts(folder)
        test = None
    _check_test_options(source, folder, test)
    found = file_list.list_files(folder, top)
    names = _class_names(folder, top, found.images)
    test_folder = folder / test if test else _test_folder(source, folder)
    nothing = Listing([], [], [])
    test_files = _list_test_files(source, test_folder, names) if test_folder else nothing
    columns = _add_columns(source, found, test_files if test else nothing)
    train, tested = found.images, test_files.images
    if test_folder is None:
        rows = find_test_files(found.images, columns, source)
        train = [file for row, file in enumerate(found.images) if row not in rows]
        tested = [file for row, file in enumerate(found.images) if row in rows]
        _check_train(source, train, names)
    others = [f"{name}/" for name in TESTS if test and name != test and (folder / name).is_dir()]
    left_out = [path for path in found.left_out if not _is_table(source, folder / path)]
    return FolderIndex(
        folder,
        names,
        tuple(train),
        tuple(tested),
        (*left_out, *test_files.left_out),
        tuple(others),
        (*found.hidden, *test_files.hidden),
        columns,
        test_folder.parent if test_folder else None,
    )


cached_index = cache(index_folder)  # cached, because the plan needs the same index several times


def find_class_folders(folder: Path) -> tuple[str, ...] | None:
    """Return the names of the class folders; None if there is no folder."""
    folder = folder.expanduser()
    top = folder / TRAIN if (folder / TRAIN).is_dir() else folder
    return tuple(sorted(file_list.list_class_folders(top))) or None if top.is_dir() else None


def _check_parts(folder: Path) -> None:
    """Raise for Train/, Test/, and test/ without train/: they would count as classes."""
    found = [name for name in sorted(file_list.list_class_folders(folder)) if name.lower() in PARTS]
    if meant := [name for name in found if name != TRAIN]:
        no_classes = ", ".join(map(quoted, meant))
        raise _wrong(folder, f"no names of classes: {no_classes}; rename to {TRAIN}/, {TESTS[0]}/")


def _check_test_options(source: FolderOptions, folder: Path, test: str | None) -> None:
    """Raise if options of the test set are missing or contradict each other."""
    given = [key for key in ("test_share", "test_path") if getattr(source, key) is not None]
    if test and given:
        value = getattr(source, given[0])
        raise ValueError(f"data.{given[0]}: {value}: not with a folder {test}/; leave it out")
    if len(given) > 1:
        raise ValueError("data.test_path: not with `test_share`; leave one of them out")
    if not test and not given:
        either = f"{TESTS[0]}/ or {TESTS[1]}/"
        has_train = (folder / TRAIN).is_dir()
        inside = f"has {TRAIN}/ but no {either}" if has_train else f"has no {TRAIN}/ and {either}"
        raise _wrong(folder, f"{inside}; give `test_share`, such as 0.2, or `test_path`")
    source.check_test_share("test_by", "train_list", "train_where")
    for key in ("test_by", "train_where"):
        if getattr(source, key) and source.table is None:
            raise ValueError(f"data.{key}: goes with `table`, which is not given")


def _wrong(folder: Path, problem: str, key: str = "path") -> ValueError:
    return ValueError(f"data.{key}: {str(folder)!r}: {problem}")


def _class_names(folder: Path, top: str, files: Sequence[ListedFile]) -> tuple[str, ...]:
    """Return the sorted class names; raise for fewer than two classes and for an empty class."""
    where, names = folder / top, tuple(sorted(file_list.list_class_folders(folder / top)))
    if len(names) < 2:
        found = f"one class only, {quoted(names[0])}" if names else "no folder in it"
        raise _wrong(where, f"{found}; expected a folder for each of at least two classes")
    there = {file.class_name for file in files}
    if empty := [name for name in names if name not in there]:
        more = f", nor have {len(empty) - 1} more" if len(empty) > 1 else ""
        raise _wrong(where, f"class {quoted(empty[0])} has no image{more}; remove its folder")
    return names


def _test_folder(source: FolderOptions, folder: Path) -> Path | None:
    """Return the folder that `test_path` names; None if `test_path` is missing or is a list."""
    path = source.test_path.expanduser() if source.test_path else None
    if path is None or path.is_file():
        return None
    if not path.is_dir():
        found = f"there is no folder and no list {str(path)!r}"
        raise ValueError(f"data.test_path: {found}{looked_for(path)}")
    if path.resolve().is_relative_to(folder.resolve()):
        problem = "lies inside `path`, where its folders would be classes; move it"
        raise _wrong(path, problem, "test_path")
    return path


def _list_test_files(source: FolderOptions, folder: Path, names: tuple[str, ...]) -> Listing:
    """List the test images; raise for an empty folder and for a class that the train set lacks."""
    key = "path" if source.test_path is None else "test_path"
    found = file_list.list_files(folder.parent, folder.name)
    if not found.images:
        raise _wrong(folder, "no image in the folder of a class; expected the test set", key)
    for file in found.images:
        if file.class_name not in names:
            lacking = f"class {quoted(file.class_name)} is not in {TRAIN}/"
            raise _wrong(folder, f"{lacking}{did_you_mean(file.class_name, names)}", key)
    return found


def _add_columns(source: FolderOptions, *listings: Listing) -> tuple[str, ...]:
    """Add the values of the table to every file; return the names of its columns."""
    if source.table is None:
        return ()
    paths = [file.path for one in listings for file in one.images]
    names, values = file_list.read_table(source.table, paths)
    rows = iter(values)
    for one in listings:
        one.images[:] = [replace(file, values=next(rows)) for file in one.images]
    return names


def _check_train(
    source: FolderOptions, train: Sequence[ListedFile], names: tuple[str, ...]
) -> None:
    """Raise if the list of test images contains all images of a class."""
    there = {file.class_name for file in train}
    if lost := [name for name in names if name not in there]:
        assert source.test_path, "a share leaves images of every class"
        problem = f"leaves no image of class {quoted(lost[0])} to train on"
        raise _wrong(source.test_path, problem, "test_path")


def _is_table(source: FolderOptions, path: Path) -> bool:
    return source.table is not None and path.resolve() == source.table.expanduser().resolve()

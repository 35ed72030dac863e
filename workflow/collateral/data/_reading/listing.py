"""A folder of images by class, listed: names and sizes of files, and no image is opened.

`train/` and `test/` (or `val/`) hold a folder a class each; or the folder itself does, and the test
set is another folder, a list of files, or a share of every class. A table may have further columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from collateral.contract.columns import FILE
from collateral.contract.spelling import looked_for, nearest, shown
from collateral.data._reading.table import read_table
from collateral.data._reading.test_set import Source, without_listed, without_share
from collateral.data._reading.walking import ListedFile, Listing, class_folders, listing_of

TRAIN = "train"
TESTS = ("test", "val", "valid", "validation")  # the first that is there
# No names of classes where the parts are looked for; "valid" may well be one.
PARTS = (TRAIN, "test", "val", "validation")


@dataclass(frozen=True)
class Tree:
    """A folder's images in a fixed order: sorted by their paths."""

    folder: Path
    class_names: tuple[str, ...]
    train: tuple[ListedFile, ...]
    test: tuple[ListedFile, ...]
    left_out: tuple[str, ...]  # by their names no images, or in no class
    unused: tuple[str, ...] = ()  # folders as val/, where test/ is there as well
    hidden: tuple[str, ...] = ()  # files and folders
    column_names: tuple[str, ...] = ()  # of the table
    test_folder: Path | None = None  # where the test images' paths begin, if not at `folder`

    @property
    def state(self) -> str:
        """A hash of what files there are, how large they are, and when they were changed."""
        files = (*self.train, *self.test)
        listed = [
            "\0".join([file.path, str(file.num_bytes), str(file.changed), *file.values])
            for file in files
        ]
        content = [str(len(self.train)), *self.column_names, *listed]
        return hashlib.sha256("\0".join(content).encode()).hexdigest()[:16]

    @property
    def locations(self) -> list[Path]:
        """Where the files are: those of the train set, then those of the test set."""
        test_folder = self.test_folder or self.folder
        train = [self.folder / file.path for file in self.train]
        return [*train, *(test_folder / file.path for file in self.test)]

    def labels(self, files: Sequence[ListedFile]) -> list[int]:
        """Return the class of each of some files, by its place."""
        place = {name: index for index, name in enumerate(self.class_names)}
        return [place[file.class_name] for file in files]

    def counts(self, files: Sequence[ListedFile]) -> tuple[int, ...]:
        """Return how many of some files each class has."""
        found = dict.fromkeys(self.class_names, 0)
        for file in files:
            found[file.class_name] += 1
        return tuple(found.values())

    def columns(self, files: Sequence[ListedFile]) -> dict[str, list[str]]:
        """Return the paths of some files, and what the table says of them if it does."""
        found = {FILE: [file.path for file in files]}
        if all(file.values for file in files):
            further = enumerate(self.column_names)
            found |= {name: [file.values[place] for file in files] for place, name in further}
        return found


def tree_of(source: Source) -> Tree:
    """List a folder; whatever is wrong with it is one line that begins with the key."""
    folder = source.folder.expanduser()
    if not folder.is_dir():
        raise ValueError(f"data.path: there is no folder {str(folder)!r}{looked_for(folder)}")
    test = next((name for name in TESTS if (folder / name).is_dir()), None)
    top = TRAIN if (folder / TRAIN).is_dir() else ""
    if test is None or not top:
        _check_parts(folder)
        test = None
    _check_test_options(source, folder, test)
    found = listing_of(folder, top)
    names = _class_names(folder, top, found.images)
    test_folder = folder / test if test else _test_folder(source, folder)
    tested = _tested(source, test_folder, names) if test_folder else Listing([], [], [])
    columns = _add_columns(source, found, tested if test else Listing([], [], []))
    if test_folder is None:
        choose = without_share if source.test_path is None else without_listed
        parts = choose(found.images, columns, source)
        _check_train(source, parts[0], names)
    else:
        parts = found.images, tested.images
    others = [f"{name}/" for name in TESTS if test and name != test and (folder / name).is_dir()]
    left_out = [path for path in found.left_out if not _is_table(source, folder / path)]
    return Tree(
        folder,
        names,
        tuple(parts[0]),
        tuple(parts[1]),
        (*left_out, *tested.left_out),
        tuple(others),
        (*found.hidden, *tested.hidden),
        columns,
        test_folder.parent if test_folder else None,
    )


known_tree = cache(tree_of)  # for the plan, which asks often and lives briefly


def known_names(folder: Path) -> tuple[str, ...] | None:
    """Return the classes by their folders; None where there are none to see."""
    folder = folder.expanduser()
    top = folder / TRAIN if (folder / TRAIN).is_dir() else folder
    return tuple(sorted(class_folders(top))) or None if top.is_dir() else None


def _check_parts(folder: Path) -> None:
    """Refuse Train/ and Test/, and test/ alone, which would be classes."""
    found = [name for name in sorted(class_folders(folder)) if name.lower() in PARTS]
    if meant := [name for name in found if name != TRAIN]:
        no_classes = ", ".join(map(shown, meant))
        raise _wrong(folder, f"no names of classes: {no_classes}; rename to {TRAIN}/, {TESTS[0]}/")


def _check_test_options(source: Source, folder: Path, test: str | None) -> None:
    """Refuse options of the test set that are missing, or that go without each other."""
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
    for key in ("test_by", "train_list", "train_where"):
        if getattr(source, key) and source.test_share is None:
            raise ValueError(f"data.{key}: goes with `test_share`, which is not given")
        if getattr(source, key) and key != "train_list" and source.table is None:
            raise ValueError(f"data.{key}: goes with `table`, which is not given")


def _wrong(folder: Path, what: str, key: str = "path") -> ValueError:
    return ValueError(f"data.{key}: {str(folder)!r}: {what}")


def _class_names(folder: Path, top: str, files: Sequence[ListedFile]) -> tuple[str, ...]:
    """Return the classes in order; refuse one that is empty, and a single one."""
    where, names = folder / top, tuple(sorted(class_folders(folder / top)))
    if len(names) < 2:
        found = f"one class only, {shown(names[0])}" if names else "no folder in it"
        raise _wrong(where, f"{found}; expected a folder for each of at least two classes")
    there = {file.class_name for file in files}
    if empty := [name for name in names if name not in there]:
        more = f", nor have {len(empty) - 1} more" if len(empty) > 1 else ""
        raise _wrong(where, f"class {shown(empty[0])} has no image{more}; remove its folder")
    return names


def _test_folder(source: Source, folder: Path) -> Path | None:
    """Return the user's own folder of test images; None where the test set is a list or a share."""
    path = source.test_path.expanduser() if source.test_path else None
    if path is None or path.is_file():
        return None
    if not path.is_dir():
        found = f"there is no folder and no list {str(path)!r}"
        raise ValueError(f"data.test_path: {found}{looked_for(path)}")
    if path.resolve().is_relative_to(folder.resolve()):
        said = "lies inside `path`, where its folders would be classes; move it"
        raise _wrong(path, said, "test_path")
    return path


def _tested(source: Source, folder: Path, names: tuple[str, ...]) -> Listing:
    """List the folder of test images; refuse an empty one, and a class that the train set lacks."""
    key = "path" if source.test_path is None else "test_path"
    found = listing_of(folder.parent, folder.name)
    if not found.images:
        raise _wrong(folder, "no image in the folder of a class; expected the test set", key)
    for file in found.images:
        if file.class_name not in names:
            lacking = f"class {shown(file.class_name)} is not in {TRAIN}/"
            raise _wrong(folder, f"{lacking}{nearest(file.class_name, names)}", key)
    return found


def _add_columns(source: Source, *listings: Listing) -> tuple[str, ...]:
    """Give every file its row of the table; return the names of the columns."""
    if source.table is None:
        return ()
    table = read_table(source.table)
    values = table.values_of([file.path for one in listings for file in one.images])
    rows = iter(values)
    for one in listings:
        one.images[:] = [replace(file, values=next(rows)) for file in one.images]
    return table.further


def _check_train(source: Source, train: Sequence[ListedFile], names: tuple[str, ...]) -> None:
    """Refuse a list of test images that has all images of a class."""
    there = {file.class_name for file in train}
    if lost := [name for name in names if name not in there]:
        assert source.test_path, "a share leaves images of every class"
        said = f"leaves no image of class {shown(lost[0])} to train on"
        raise _wrong(source.test_path, said, "test_path")


def _is_table(source: Source, path: Path) -> bool:
    return source.table is not None and path.resolve() == source.table.expanduser().resolve()

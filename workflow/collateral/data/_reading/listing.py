"""A folder of images by class, listed: names and sizes of files, and no image is opened.

`train/` and `test/` (or `val/`) hold a folder a class each; or the folder itself does, and a share
of every class is the test set.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from collateral.contract.seeds import seed_of
from collateral.contract.spelling import looked_for, nearest, plain, shown
from collateral.data._reading.file_list import listed_files, spellings
from collateral.data._reading.formats import SUFFIXES
from collateral.data._reading.share import num_tested

TRAIN = "train"
TESTS = ("test", "val", "valid", "validation")  # the first that is there
# No names of classes where the parts are looked for; "valid" may well be one.
PARTS = (TRAIN, "test", "val", "validation")
IGNORED = ("__MACOSX", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class ListedFile:
    """A file that should be an image of a class."""

    path: str  # below the folder, with /
    class_name: str
    num_bytes: int
    changed: int  # nanoseconds


@dataclass(frozen=True)
class Tree:
    """A folder's images in a fixed order: sorted by their paths."""

    folder: Path
    class_names: tuple[str, ...]
    train: tuple[ListedFile, ...]
    test: tuple[ListedFile, ...]
    left_out: tuple[str, ...]  # by their names no images, or in no class
    unused: tuple[str, ...] = ()  # folders as val/, where test/ is there as well

    @property
    def state(self) -> str:
        """A hash of what files there are, how large they are, and when they were changed."""
        files = (*self.train, *self.test)
        listed = [f"{file.path}\0{file.num_bytes}\0{file.changed}" for file in files]
        return hashlib.sha256("\0".join(listed).encode()).hexdigest()[:16]

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


def tree_of(
    folder: Path, test_share: float | None, test_seed: int = 0, train_list: Path | None = None
) -> Tree:
    """List a folder; whatever is wrong with it is one line that begins with the key."""
    folder = folder.expanduser()
    if not folder.is_dir():
        raise ValueError(f"data.path: there is no folder {str(folder)!r}{looked_for(folder)}")
    test = next((name for name in TESTS if (folder / name).is_dir()), None)
    if test is None or not (folder / TRAIN).is_dir():
        _check_parts(folder)
    if not (folder / TRAIN).is_dir():
        test = None
        _check_share(folder, test_share)
    elif test is None and test_share is None:
        raise _wrong(folder, f"has {TRAIN}/ but no {_either()}; add one, or give `test_share`")
    elif test is not None and test_share is not None:
        raise ValueError(f"data.test_share: {test_share}: not with a folder {test}/; leave it out")
    if test is not None and train_list:
        raise ValueError(f"data.train_list: not with a folder {test}/; leave it out")
    top = TRAIN if (folder / TRAIN).is_dir() else ""
    train, left_out = _images(folder, top)
    names = _class_names(folder, top, train)
    if test is None:
        stay = _names_in(train_list) if train_list else frozenset()
        train, tested = _shared_out(train, names, test_share or 0.0, test_seed, stay)
    else:
        tested, more = _images(folder, test)
        left_out += more
        _check_test(folder, test, tested, names)
    parts = [f"{name}/" for name in TESTS if test and name != test and (folder / name).is_dir()]
    return Tree(folder, names, tuple(train), tuple(tested), tuple(left_out), tuple(parts))


known_tree = cache(tree_of)  # for the plan, which asks often and lives briefly


def known_names(folder: Path) -> tuple[str, ...] | None:
    """Return the classes by their folders; None where there are none to see."""
    folder = folder.expanduser()
    top = folder / TRAIN if (folder / TRAIN).is_dir() else folder
    return tuple(sorted(_class_folders(top))) or None if top.is_dir() else None


def _check_parts(folder: Path) -> None:
    """Refuse Train/ and Test/, and test/ alone, which would be classes."""
    found = [name for name in sorted(_class_folders(folder)) if name.lower() in PARTS]
    if meant := [name for name in found if name != TRAIN]:
        no_classes = ", ".join(map(shown, meant))
        raise _wrong(folder, f"no names of classes: {no_classes}; rename to {TRAIN}/, {TESTS[0]}/")


def _check_share(folder: Path, test_share: float | None) -> None:
    if test_share is None:
        inside = f"has no {TRAIN}/ and {_either()}"
        raise _wrong(
            folder, f"{inside}; give `test_share`, such as 0.2, if its folders are classes"
        )


def _either() -> str:
    return " or ".join(f"{name}/" for name in TESTS[:2])


def _wrong(folder: Path, what: str) -> ValueError:
    return ValueError(f"data.path: {str(folder)!r}: {what}")


def _class_folders(top: Path) -> list[str]:
    with os.scandir(top) as entries:
        return [entry.name for entry in entries if entry.is_dir() and not _is_ignored(entry.name)]


def _images(folder: Path, top: str) -> tuple[list[ListedFile], list[str]]:
    """Return the images of all classes below `top`, sorted by path, and what is left out."""
    files, left_out = [], []
    for path, entry in _files(folder / top, PurePosixPath(top)):
        _check_name(folder, path)
        parts = PurePosixPath(path).parts[1 if top else 0 :]
        if len(parts) < 2 or Path(parts[-1]).suffix.lower() not in SUFFIXES:
            left_out.append(path)
            continue
        found = entry.stat()
        files.append(ListedFile(path, parts[0], found.st_size, found.st_mtime_ns))
    return sorted(files, key=lambda file: file.path), sorted(left_out)


def _files(top: Path, below: PurePosixPath) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield all files below a folder; a link to a folder counts only where it is a class."""
    is_class = str(below) in ("", ".", TRAIN, *TESTS)
    with os.scandir(top) as entries:
        for entry in entries:
            if _is_ignored(entry.name):
                continue
            if entry.is_dir(follow_symlinks=is_class):
                yield from _files(Path(entry.path), below / entry.name)
            elif entry.is_file():
                yield str(below / entry.name), entry


def _is_ignored(name: str) -> bool:
    return name.startswith(".") or name in IGNORED


def _check_name(folder: Path, path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise _wrong(folder, f"the name of the file {path!a} is no UTF-8; rename it") from None


def _class_names(folder: Path, top: str, files: Sequence[ListedFile]) -> tuple[str, ...]:
    """Return the classes in order; refuse one that is empty, and a single one."""
    where, names = folder / top, tuple(sorted(_class_folders(folder / top)))
    if len(names) < 2:
        found = f"one class only, {shown(names[0])}" if names else "no folder in it"
        raise _wrong(where, f"{found}; expected a folder for each of at least two classes")
    there = {file.class_name for file in files}
    if empty := [name for name in names if name not in there]:
        more = f", nor have {len(empty) - 1} more" if len(empty) > 1 else ""
        raise _wrong(where, f"class {shown(empty[0])} has no image{more}; remove its folder")
    return names


def _check_test(
    folder: Path, test: str, files: Sequence[ListedFile], names: tuple[str, ...]
) -> None:
    if not files:
        raise _wrong(folder / test, "no image in the folder of a class; expected the test set")
    for file in files:
        if file.class_name not in names:
            lacking = f"class {shown(file.class_name)} is not in {TRAIN}/"
            raise _wrong(folder / test, f"{lacking}{nearest(file.class_name, names)}")


def _shared_out(
    files: Sequence[ListedFile],
    names: Sequence[str],
    share: float,
    seed: int,
    stay: frozenset[str],
) -> tuple[list[ListedFile], list[ListedFile]]:
    """Return the train and the test set: of each class a share, drawn by hashes of the paths.

    Those that are to `stay` in the train set are not drawn.
    """
    members: dict[str, list[ListedFile]] = {name: [] for name in names}
    for file in files:
        members[file.class_name].append(file)
    chosen: set[str] = set()
    for name, own in members.items():
        if len(own) < 2:
            raise ValueError(
                f"data.test_share: class {plain(name)!r} has one image; expected at least two"
            )
        count = num_tested(len(own), share)
        may_go = [file for file in own if unicodedata.normalize("NFC", file.path) not in stay]
        if len(may_go) < count:
            raise ValueError(
                f"data.train_list: leaves {len(may_go)} images of class {plain(name)!r} to test "
                f"on, where `test_share` asks for {count}; move some that stay to a test/ folder, "
                "and all others to train/"
            )
        drawn = sorted(may_go, key=lambda file: seed_of("test", seed, file.path))
        chosen |= {file.path for file in drawn[:count]}
    train = [file for file in files if file.path not in chosen]
    return train, [file for file in files if file.path in chosen]


def _names_in(train_list: Path) -> frozenset[str]:
    """Return the files that a list names, however it spells them."""
    try:
        listed = listed_files(train_list.expanduser())
    except ValueError as error:
        raise ValueError(f"data.train_list: {str(error).removeprefix('path: ')}") from None
    return frozenset(name for line in listed.values() for name in spellings(line))

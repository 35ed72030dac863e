"""Which images of a folder are tested on: those of a list, or a share of every class."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collateral.contract.seeds import seed_of
from collateral.contract.spelling import plain, unknown
from collateral.data._reading.file_list import listed_files, listed_places, spellings
from collateral.data._reading.share import GroupDraw, num_tested
from collateral.data._reading.walking import ListedFile
from collateral.data.forget import where

Parts = tuple[list[ListedFile], list[ListedFile]]  # the train and the test set


@dataclass(frozen=True)
class Source:
    """Where a folder's images are, and which of them are tested on."""

    folder: Path
    table: Path | None = None
    test_path: Path | None = None
    test_share: float | None = None
    test_seed: int = 0
    test_by: str | None = None
    train_list: Path | None = None
    train_where: tuple[tuple[str, tuple[bool | int | str, ...]], ...] = ()  # by column


def without_listed(files: Sequence[ListedFile], _columns: Sequence[str], source: Source) -> Parts:
    """Return the files that the list of test images lacks, and those that it has."""
    assert source.test_path is not None
    path = source.test_path.expanduser()
    try:
        listed = {*listed_places(path, [file.path for file in files], what="images")}
    except ValueError as error:
        raise ValueError(f"data.test_path: {str(error).removeprefix('path: ')}") from None
    return _parts(files, listed)


def without_share(files: Sequence[ListedFile], columns: Sequence[str], source: Source) -> Parts:
    """Return the train and the test set: of each class a share, drawn by hashes of the paths."""
    assert source.test_share is not None
    stay = _staying(files, columns, source)
    members: dict[str, list[int]] = {}
    for place, file in enumerate(files):
        members.setdefault(file.class_name, []).append(place)
    for name, own in members.items():
        if len(own) < 2:
            raise ValueError(
                f"data.test_share: class {plain(name)!r} has one image; expected at least two"
            )
    if source.test_by is None:
        return _parts(files, _drawn(files, members, source, stay))
    if source.test_by not in columns:
        raise ValueError(f"data.test_by: {unknown('column', source.test_by, columns)}")
    groups = [file.values[columns.index(source.test_by)] for file in files]
    labels = {place: label for label, own in enumerate(members.values()) for place in own}
    draw = GroupDraw([labels[place] for place in range(len(files))], groups, source.test_share)
    return _parts(files, draw.draw([*members], source.test_by, source.test_seed, stay))


def _parts(files: Sequence[ListedFile], tested: set[int]) -> Parts:
    train = [file for place, file in enumerate(files) if place not in tested]
    return train, [file for place, file in enumerate(files) if place in tested]


def _drawn(
    files: Sequence[ListedFile],
    members: Mapping[str, Sequence[int]],
    source: Source,
    stay: set[int],
) -> set[int]:
    """Draw a share of each class; those that are to `stay` in the train set are not drawn."""
    assert source.test_share is not None
    chosen: set[int] = set()
    for name, own in members.items():
        count = num_tested(len(own), source.test_share)
        may_go = [place for place in own if place not in stay]
        if len(may_go) < count:
            key = "train_list" if source.train_list else "train_where"
            raise ValueError(
                f"data.{key}: leaves {len(may_go)} images of class {plain(name)!r} to test "
                f"on, where `test_share` asks for {count}; move some that stay to a test/ folder, "
                "and all others to train/"
            )
        order = sorted(may_go, key=lambda p: seed_of("test", source.test_seed, files[p].path))
        chosen |= {*order[:count]}
    return chosen


def _staying(files: Sequence[ListedFile], columns: Sequence[str], source: Source) -> set[int]:
    """Return the places of the files that are to stay in the train set."""
    listed = _names_in(source.train_list) if source.train_list else frozenset()
    paths = [unicodedata.normalize("NFC", file.path) for file in files]
    stay = {place for place, path in enumerate(paths) if path in listed}
    values = {name: [f.values[place] for f in files] for place, name in enumerate(columns)}
    return stay | where.staying(source.train_where, values)


def _names_in(train_list: Path) -> frozenset[str]:
    """Return the files that a list names, however it spells them."""
    try:
        listed = listed_files(train_list.expanduser())
    except ValueError as error:
        raise ValueError(f"data.train_list: {str(error).removeprefix('path: ')}") from None
    return frozenset(name for line in listed.values() for name in spellings(line))

"""A list of files, as people send it: one path a line; empty lines and # do not count."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from collateral.contract.spelling import looked_for, nearest, shown

MOST_COMPARED = 20_000


def listed_files(path: Path) -> dict[int, str]:
    """Return the lines that name a file, by their numbers."""
    if not path.exists():
        raise ValueError(f"path: {str(path)!r}: there is no such file{looked_for(path)}")
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"path: {str(path)!r}: {error}") from None
    listed = {
        number: line.removesuffix("\r")
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    }
    if not listed:
        raise ValueError(f"path: {str(path)!r}: no file in it; expected at least one")
    return listed


def listed_places(
    path: Path, files: Sequence[str], tested: Sequence[str] = (), what: str = "train images"
) -> list[int]:
    """Return the places of the listed files among `files`; refuse one that is not there."""
    known = by_name(files)
    listed = listed_files(path)
    found = {number: place_of(line, known) for number, line in listed.items()}
    if lost := [number for number, place in found.items() if place is None]:
        reason = _why(listed[lost[0]], files, tested, what)
        first = f"line {lost[0]}: {shown(listed[lost[0]])}: {reason}"
        more = f"; nor are {len(lost) - 1} more of {len(listed)} lines" if len(lost) > 1 else ""
        raise ValueError(f"path: {str(path)!r}: {first}{more}")
    return sorted({place for place in found.values() if place is not None})


def by_name(files: Sequence[str]) -> dict[str, int]:
    """Return places by path; accents may be written in either of Unicode's two ways."""
    composed = {unicodedata.normalize("NFC", file): place for place, file in enumerate(files)}
    return composed | {file: place for place, file in enumerate(files)}


def place_of(line: str, known: Mapping[str, int]) -> int | None:
    """Return the place of the file that a line names, however it spells the path."""
    return next((known[name] for name in spellings(line) if name in known), None)


def spellings(line: str) -> tuple[str, ...]:
    """Return what a line may be called below the folder; accents have two ways to be written."""
    names = [spelled.removeprefix("./") for spelled in (line, line.strip())]
    return (*names, *(unicodedata.normalize("NFC", name) for name in names))


def _why(line: str, files: Sequence[str], tested: Sequence[str], what: str) -> str:
    if line.strip().removeprefix("./") in tested:
        return "is a test image, on which no model is trained"
    return f"is not among the {len(files)} {what}{nearest(line.strip(), _like(line, files))}"


def _like(line: str, files: Sequence[str]) -> Sequence[str]:
    """Return the files that may be meant: of this name, or in this folder; of all, not too many."""
    folder, _, name = line.strip().rpartition("/")
    same_name = [file for file in files if file.rpartition("/")[2] == name]
    same_folder = [file for file in files if file.rpartition("/")[0] == folder]
    return same_name or same_folder[:MOST_COMPARED] or files[:MOST_COMPARED]

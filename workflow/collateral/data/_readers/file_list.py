"""Read a list of files: one path per line; empty lines and lines that start with # are skipped."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from collateral.contract.messages import did_you_mean, looked_for, quoted

MOST_COMPARED = 20_000


def read_file_list(path: Path) -> dict[int, str]:
    """Return the paths in the list by line number."""
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


def find_listed(
    path: Path, files: Sequence[str], tested: Sequence[str] = (), what: str = "train images"
) -> list[int]:
    """Return the sorted indices of the listed files in `files`; raise if `files` lacks one."""
    known = index_paths(files)
    listed = read_file_list(path)
    found = {number: find_path(line, known) for number, line in listed.items()}
    if lost := [number for number, place in found.items() if place is None]:
        reason = _explain_missing(listed[lost[0]], files, tested, what)
        first = f"line {lost[0]}: {quoted(listed[lost[0]])}: {reason}"
        more = f"; nor are {len(lost) - 1} more of {len(listed)} lines" if len(lost) > 1 else ""
        raise ValueError(f"path: {str(path)!r}: {first}{more}")
    return sorted({place for place in found.values() if place is not None})


def index_paths(files: Sequence[str]) -> dict[str, int]:
    """Return the index of every path, with accents as composed and as decomposed characters."""
    composed = {unicodedata.normalize("NFC", file): place for place, file in enumerate(files)}
    return composed | {file: place for place, file in enumerate(files)}


def find_path(line: str, known: Mapping[str, int]) -> int | None:
    """Return the index of the file that a line of the list names, in any of its spellings."""
    return next((known[name] for name in list_spellings(line) if name in known), None)


def list_spellings(line: str) -> tuple[str, ...]:
    """Return the possible paths of a line: without spaces, without ./, with composed accents."""
    names = [spelled.removeprefix("./") for spelled in (line, line.strip())]
    return (*names, *(unicodedata.normalize("NFC", name) for name in names))


def _explain_missing(line: str, files: Sequence[str], tested: Sequence[str], what: str) -> str:
    if line.strip().removeprefix("./") in tested:
        return "is a test image, on which no model is trained"
    hint = did_you_mean(line.strip(), _similar_files(line, files))
    return f"is not among the {len(files)} {what}{hint}"


def _similar_files(line: str, files: Sequence[str]) -> Sequence[str]:
    """Return candidates for a misspelled path: same name, same folder, or the first files."""
    folder, _, name = line.strip().rpartition("/")
    same_name = [file for file in files if file.rpartition("/")[2] == name]
    same_folder = [file for file in files if file.rpartition("/")[0] == folder]
    return same_name or same_folder[:MOST_COMPARED] or files[:MOST_COMPARED]

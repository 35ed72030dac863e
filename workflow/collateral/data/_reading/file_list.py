"""A list of files, as people send it: one path a line; empty lines and # do not count."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from collateral.contract.spelling import looked_for


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


def spellings(line: str) -> tuple[str, ...]:
    """Return what a line may be called below the folder; accents have two ways to be written."""
    names = [spelled.removeprefix("./") for spelled in (line, line.strip())]
    return (*names, *(unicodedata.normalize("NFC", name) for name in names))

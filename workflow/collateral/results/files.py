"""Atomic writes: a file is there whole, or not at all."""

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last: numpy and matplotlib choose their format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write `content` with sorted keys, so that equal contents are equal files."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text())


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write `rows` as CSV; a missing value is an empty field."""
    with atomic(path) as temporary:
        temporary.write_text(csv_text(columns, rows))


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return `rows` as CSV; a missing value is an empty field, an unknown column an error."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

"""Read and write JSON and CSV files: writes are atomic, and errors name the broken file."""

import csv
import io
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from collateral.results import layout

MISSING = "is missing"


class InvalidResultError(ValueError):
    """A result file is damaged, missing or not from the expected job; the message has a remedy."""

    def __init__(self, path: Path, reason: str) -> None:
        """Compose the message: path, reason and remedy in one line."""
        reason = " ".join(reason.split())
        super().__init__(f"{path}: {reason}; {_remedy(path)}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[Path, str]]:
        """Return the class and arguments from which pickle builds the error in another process."""
        return type(self), (self.path, self.reason)


def _remedy(path: Path) -> str:
    """Return the end of the error message: how to make the file again."""
    there = [str(one) for one in layout.paths_to_delete(path) if one.exists()]
    return f"delete and run again: {shlex.join(['rm', '-r', *there])}" if there else "run again"


@contextmanager
def report_broken_file(path: Path, *broken: type[Exception]) -> Iterator[None]:
    """Convert errors of types `broken`, caused by a damaged file, to errors that name the file."""
    try:
        yield
    except InvalidResultError:
        raise  # The message of this error already names the file.
    except FileNotFoundError:
        raise InvalidResultError(path, MISSING) from None
    except broken as error:
        reason = error.args[0] if isinstance(error, KeyError) else error
        raise InvalidResultError(path, f"broken: {str(reason) or 'it ends too early'}") from None


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it to `path` if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The temporary file keeps the suffix, because numpy and matplotlib choose the format by it.
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(
    path: Path, content: Mapping[str, Any] | Sequence[Any], *, sort_keys: bool = True
) -> None:
    """Write a JSON file, by default with sorted keys, so that equal contents give equal files."""
    with atomic(path) as temporary:
        text = json.dumps(content, indent=2, sort_keys=sort_keys)
        temporary.write_text(f"{text}\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file; raise InvalidResultError if it is missing or damaged."""
    # ValueError: the file is not JSON, or not UTF-8 text; RecursionError: 100,000 brackets.
    with report_broken_file(path, ValueError, RecursionError):
        return json.loads(path.read_text(encoding="utf-8"))


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a CSV file; raise InvalidResultError if it is missing or damaged."""
    with (
        report_broken_file(path, csv.Error, ValueError),  # The file is not CSV, or not UTF-8 text.
        path.open(encoding="utf-8", newline="") as file,
    ):
        return list(csv.DictReader(file))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to a CSV file; a missing value is an empty field."""
    with atomic(path) as temporary:
        temporary.write_text(csv_text(columns, rows), encoding="utf-8")


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV text; missing values are empty fields. Raise for an unknown column."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

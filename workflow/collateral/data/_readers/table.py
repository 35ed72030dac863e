"""Read a table of the images in a folder: a CSV file with `file` and metadata columns.

Every image has one row with its path below the folder. Values are text: `017` keeps its zero.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collateral.contract.conventions import FILE
from collateral.contract.messages import looked_for, quoted, unknown_name
from collateral.data._readers.file_list import find_path, index_paths

DELIMITERS = ",;\t"
MOST_NAMED = 3
SUFFIX = ".csv"


@dataclass(frozen=True)
class Table:
    """A CSV file: column names, and rows by the number of their last line."""

    path: Path
    columns: tuple[str, ...]
    rows: Mapping[int, tuple[str, ...]]

    @property
    def further(self) -> tuple[str, ...]:
        """Names of all columns except `file`."""
        return tuple(name for name in self.columns if name != FILE)

    def match_rows(self, files: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the metadata values per file; raise unless every file has exactly one row."""
        column, known = self.columns.index(FILE), index_paths(files)
        lines: dict[int, int] = {}
        unknown_files: dict[int, str] = {}
        for line, row in self.rows.items():
            place = find_path(row[column], known)
            if place is None:
                unknown_files[line] = row[column]
            elif place in lines:
                twice = f"lines {lines[place]} and {line} are both of {quoted(files[place])}"
                raise _wrong(self.path, f"{twice}; remove one")
            else:
                lines[place] = line
        self._check_complete(files, lines, unknown_files)
        rows = [self.rows[lines[place]] for place in range(len(files))]
        return [(*row[:column], *row[column + 1 :]) for row in rows]

    def _check_complete(
        self, files: Sequence[str], lines: Mapping[int, int], unknown_files: Mapping[int, str]
    ) -> None:
        """Raise if the table lacks images or has rows of unknown files; the message lists some."""
        lacking = [quoted(file) for place, file in enumerate(files) if place not in lines]
        others = [f"{quoted(name)} (line {line})" for line, name in unknown_files.items()]
        problems = []
        if lacking:
            problems += [f"it lacks {len(lacking)} of {len(files)} images: {_first(lacking)}"]
        if others:
            problems += [f"it names {len(others)} files that are no images there: {_first(others)}"]
        if problems:
            expected = f"expected one row per image, with its path such as {quoted(files[0])}"
            raise _wrong(self.path, f"{'; '.join(problems)}; {expected}")


def read_table(path: Path) -> Table:
    """Read a CSV file that is separated by commas, semicolons or tabs."""
    path = path.expanduser()
    if not path.is_file():
        raise ValueError(f"data.table: there is no file {str(path)!r}{looked_for(path)}")
    (_, names), *rows = _lines(path) or [(1, [])]
    columns = tuple(names)
    _check_columns(path, columns)
    for line, row in rows:
        if len(row) != len(columns):
            raise _wrong(path, f"line {line}: {len(row)} values for {len(columns)} columns")
    return Table(path, columns, {line: tuple(row) for line, row in rows})


def find_tables(folder: Path, column: str) -> list[Path]:
    """Return the CSV files in a folder and beside it with the columns `file` and `column`.

    If none has `column`, return the files with a column `file`.
    """
    near = [file for place in (folder, folder.parent) for file in sorted(place.iterdir())]
    tables = {file: _header(file) for file in near if file.suffix.lower() == SUFFIX}
    named = [file for file, names in tables.items() if FILE in names]
    return [file for file in named if column in tables[file]] or named


def _header(path: Path) -> list[str]:
    """Return the column names of a CSV file; empty if the file cannot be read."""
    try:
        return _lines(path)[0][1]
    except (ValueError, IndexError, OSError):
        return []


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return the non-empty rows, each with the number of its last line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        first = text.partition("\n")[0]
        delimiter = max(DELIMITERS, key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = [(reader.line_num, [value.strip() for value in row]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise _wrong(path, f"no CSV in UTF-8: {error}") from None
    return [(line, row) for line, row in rows if any(row)]


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    if FILE not in columns:
        raise _wrong(
            path, f"{unknown_name('column', FILE, columns)}; it has the paths of the images"
        )
    for place, name in enumerate(columns):
        if not name or name in columns[:place]:
            found = f"column {place + 1} is called {quoted(name)}"
            raise _wrong(path, f"{found}; expected names that differ")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + ", ..." * (len(names) > MOST_NAMED)


def _wrong(path: Path, problem: str) -> ValueError:
    return ValueError(f"data.table: {str(path)!r}: {problem}")

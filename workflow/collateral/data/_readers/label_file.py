"""Read label files: CSV or TSV tables with one row per image and its label.

With a header, further columns are metadata, and a column `part` divides the images into train and
test set. Without a header, the first two values of a row are the file and the label, as in
Tiny-ImageNet's val_annotations.txt. Names of files are paths below the folder of the data, or below
one folder in it.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from collateral.contract.messages import listed, looked_for, quoted, unknown_name
from collateral.data._readers.file_list import ListedFile, check_rows, read_rows

PART = "part"  # column that divides the images into train and test set
TRAIN = "train"
# Possible names of the test part, by preference.
TESTS = ("test", "val", "valid", "validation")
# Number of rows whose names are searched for in the subfolders.
NUM_SEARCHED = 20
MOST_NAMED = 3  # maximum number of missing files that a message names


@dataclass(frozen=True)
class LabelledFiles:
    """The images that a label file lists, sorted by path, with the metadata columns."""

    files: list[ListedFile]
    columns: dict[str, list[str]]

    def take(self, rows: Sequence[int]) -> LabelledFiles:
        """Return the images in these rows."""
        return LabelledFiles(
            [self.files[row] for row in rows],
            {name: [column[row] for row in rows] for name, column in self.columns.items()},
        )

    def find_parts(self) -> tuple[LabelledFiles, LabelledFiles] | None:
        """Return train and test set by the column `part`; None if no such column divides them.

        Images of a further part, such as `val` beside `test`, are left out.
        """
        parts = [value.lower() for value in self.columns.get(PART, [])]
        tests = [name for name in TESTS if name in parts]
        if TRAIN not in parts or not tests or not {*parts} <= {TRAIN, *TESTS}:
            return None
        columns = {name: column for name, column in self.columns.items() if name != PART}
        rest = replace(self, columns=columns)
        train, test = (
            rest.take([row for row, part in enumerate(parts) if part == name])
            for name in (TRAIN, tests[0])
        )
        return train, test


def read_label_file(
    key: str, path: Path, images: Sequence[ListedFile], columns: tuple[str, str], *, is_test: bool
) -> LabelledFiles:
    """Return the images that a label file lists, each with its label as the name of its class.

    `key` is the config key of the file, for errors; `columns` are those of files and labels.
    """
    file_column, label_column = columns
    path = path.expanduser()
    at = f"{key}: {str(path)!r}"
    try:
        rows = _split_at_spaces(read_rows(path))
    except (OSError, ValueError, csv.Error) as error:
        raise ValueError(f"{at}: {error}{looked_for(path)}") from None
    known = {file.path: file for file in images}
    header, rows = _find_columns(at, rows, columns, known)
    check_rows(at, header, rows)
    place = {name: header.index(name) for name in columns}
    names = {line: row[place[file_column]] for line, row in rows}
    if unlabelled := [line for line, row in rows if not row[place[label_column]]]:
        raise ValueError(f"{at}: line {unlabelled[0]}: no value in column {label_column!r}")
    folder = _find_folder(at, names, known, TESTS if is_test else (TRAIN,))
    if repeated := [name for name, count in Counter(names.values()).items() if count > 1]:
        raise ValueError(f"{at}: {listed('files in more than one row', repeated)}")
    found = {folder + row[place[file_column]]: (row[place[label_column]], row) for _, row in rows}
    order = sorted(found)
    further = {name: i for i, name in enumerate(header) if name and name not in place}
    return LabelledFiles(
        [replace(known[name], class_name=found[name][0]) for name in order],
        {name: [found[file][1][i] for file in order] for name, i in further.items()},
    )


def sort_classes(names: set[str]) -> list[str]:
    """Return the names of classes in alphabetical order; numbers by their value."""
    are_numbers = all(name.isdecimal() for name in names)
    return sorted(names, key=lambda name: (int(name) if are_numbers else 0, name))


Rows = list[tuple[int, list[str]]]


def _split_at_spaces(rows: Rows) -> Rows:
    """Split rows of one value, such as `val_0.JPEG 65`, at their last space."""
    if any(len(row) > 1 for _, row in rows):
        return rows
    return [(line, row[0].rsplit(maxsplit=1)) for line, row in rows]


def _find_columns(
    at: str, rows: Rows, needed: tuple[str, str], known: Mapping[str, ListedFile]
) -> tuple[list[str], Rows]:
    """Return the names of the columns, and the rows below the header, if there is one."""
    first = rows[0][1] if rows else []
    if {*needed} <= {*first}:
        return first, rows[1:]
    ends = f"/{first[0]}" if first else ""
    if len(first) > 1 and any(f"/{path}".endswith(ends) for path in known):
        return [*needed, *[""] * (len(first) - 2)], rows
    lacking = next(name for name in needed if name not in first)
    option = "file_column" if lacking == needed[0] else "label_column"
    hint = f"; name it by `{option}:`"
    raise ValueError(f"{at}: {unknown_name('column', lacking, first)}{hint}")


def _find_folder(
    at: str, names: Mapping[int, str], known: Mapping[str, ListedFile], parts: Sequence[str]
) -> str:
    """Return the folder below which all names are: "" for `path` itself, or a folder in it.

    If there are several, it is the one whose name begins with one of `parts`, if only one does.
    """
    searched = [f"/{name}" for name in [*names.values()][:NUM_SEARCHED]]
    paths = [f"/{path}" for path in known]
    tops = {path[1 : 1 + len(path) - len(end)] for end in searched for path in paths
            if path.endswith(end)}  # fmt: skip
    missing = {
        top: [line for line, name in names.items() if top + name not in known]
        for top in sorted({"", *tops}, key=lambda top: (len(top), top))
    }
    complete = [top for top, lines in missing.items() if not lines]
    of_part = [top for top in complete if top.lower().startswith(tuple(parts))]
    if len(complete) == 1 or "" in complete:
        return complete[0]
    if len(of_part) == 1:
        return of_part[0]
    if complete:
        raise ValueError(
            f"{at}: {listed('folders that have all its files', complete)}; expected one; write the "
            "paths below `path` into the file"
        )
    top = min(missing, key=lambda one: len(missing[one]))
    rows = [f"line {line}: {quoted(names[line])}" for line in missing[top][:MOST_NAMED]]
    where = f"in {quoted(top)}" if top else "below `path`"
    raise ValueError(
        f"{at}: {len(missing[top])} of {len(names)} files are not {where}: {', '.join(rows)}"
    )

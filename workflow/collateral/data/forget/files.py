"""Train examples listed by their files: paths below the folder of the data, one a line.

Lines that begin with # and empty ones do not count; a file whose name begins so is `./#1.png`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.columns import FILE
from collateral.contract.params import Strict, UserPath
from collateral.contract.spelling import nearest, shown
from collateral.data._reading.file_list import listed_files, spellings
from collateral.results.chain import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels

MOST_COMPARED = 20_000


class Params(Strict):
    """Which list."""

    path: UserPath = Field(
        description="A text file: one path a line, below the folder of the data (train/cat/1.png)."
    )


def unfit(size: DatasetSize, params: Params) -> Iterator[tuple[str, str]]:
    """Yield a key and what is wrong with its value, as far as the names of files can tell."""
    if not params.path.expanduser().exists():
        return
    try:
        columns = size.columns()
    except ValueError:
        return  # wrong with the data, which the job that reads them says
    try:
        _places(params, columns)
    except ValueError as error:
        yield "path", str(error).removeprefix("path: ")


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the listed train examples, ascending; refuse a list with a file that is not there."""
    import numpy as np

    columns = {name: column.tolist() for name, column in labels.columns.items()}
    tested = labels.test_columns.get(FILE)
    return np.array(_places(params, columns, [] if tested is None else tested.tolist()), np.int64)


def count(size: DatasetSize, params: Params) -> int:
    """Return how many examples `select` returns."""
    return len(_places(params, size.columns()))


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return the list's name and the hash of its content for the record."""
    return {"path": str(params.path), "sha256": content_hash(params.path.expanduser())}


def _places(
    params: Params, columns: Mapping[str, Sequence[str]], tested: Sequence[str] = ()
) -> list[int]:
    """Return the places of the listed files in the train set."""
    path = params.path.expanduser()
    if FILE not in columns:
        raise ValueError("path: this data set does not name its examples by files; try index_file")
    known = _by_name(columns[FILE])
    listed = listed_files(path)
    found = {number: _place(line, known) for number, line in listed.items()}
    if lost := [number for number, place in found.items() if place is None]:
        reason = _why(listed[lost[0]], columns[FILE], tested)
        first = f"line {lost[0]}: {shown(listed[lost[0]])}: {reason}"
        more = f"; nor are {len(lost) - 1} more of {len(listed)} lines" if len(lost) > 1 else ""
        raise ValueError(f"path: {str(path)!r}: {first}{more}")
    return sorted({place for place in found.values() if place is not None})


def _by_name(files: Sequence[str]) -> dict[str, int]:
    """Return places by path; accents may be written in either of Unicode's two ways."""
    composed = {unicodedata.normalize("NFC", file): place for place, file in enumerate(files)}
    return composed | {file: place for place, file in enumerate(files)}


def _place(line: str, known: Mapping[str, int]) -> int | None:
    return next((known[name] for name in spellings(line) if name in known), None)


def _why(line: str, files: Sequence[str], tested: Sequence[str]) -> str:
    if line.strip().removeprefix("./") in tested:
        return "is a test image, on which no model is trained"
    return f"is not among the {len(files)} train images{nearest(line.strip(), _like(line, files))}"


def _like(line: str, files: Sequence[str]) -> Sequence[str]:
    """Return the files that may be meant: of this name, or in this folder; of all, not too many."""
    folder, _, name = line.strip().rpartition("/")
    same_name = [file for file in files if file.rpartition("/")[2] == name]
    same_folder = [file for file in files if file.rpartition("/")[0] == folder]
    return same_name or same_folder[:MOST_COMPARED] or files[:MOST_COMPARED]

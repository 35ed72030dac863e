"""Train examples listed by their files: paths below the folder of the data, one a line.

Lines that begin with # and empty ones do not count; a file whose name begins so is `./#1.png`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.columns import FILE
from collateral.contract.params import Strict, UserPath
from collateral.data._reading.file_list import listed_places
from collateral.results.chain import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


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
        places(params, columns)
    except ValueError as error:
        yield "path", str(error).removeprefix("path: ")


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the listed train examples, ascending; refuse a list with a file that is not there."""
    import numpy as np

    columns = {name: column.tolist() for name, column in labels.columns.items()}
    tested = labels.test_columns.get(FILE)
    return np.array(places(params, columns, [] if tested is None else tested.tolist()), np.int64)


def count(size: DatasetSize, params: Params) -> int:
    """Return how many examples `select` returns."""
    return len(places(params, size.columns()))


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return the list's name and the hash of its content for the record."""
    return {"path": str(params.path), "sha256": content_hash(params.path.expanduser())}


def places(
    params: Params, columns: Mapping[str, Sequence[str]], tested: Sequence[str] = ()
) -> list[int]:
    """Return the places of the listed files in the train set."""
    if FILE not in columns:
        raise ValueError("path: this data set does not name its examples by files; try index_file")
    return listed_places(params.path.expanduser(), columns[FILE], tested)

"""Train examples whose paths, below the folder of the data, are in a list: one path per line.

Empty lines and lines that start with # are skipped; write `./#1.png` for a file with such a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from collateral.contract.conventions import FILE
from collateral.contract.params import Strict, UserPath
from collateral.data._readers.file_list import find_listed
from collateral.results.provenance import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels


class Params(Strict):
    """Parameters: the path of a list of files to forget."""

    path: UserPath = Field(
        description="Text file that lists the images to forget, one path per line, relative to "
        "the folder of the data (e.g. train/cat/1.png)."
    )


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the indices of the listed train examples, ascending; raise for an unknown file."""
    import numpy as np

    columns = {name: column.tolist() for name, column in labels.columns.items()}
    tested = {name: column.tolist() for name, column in labels.test_columns.items()}
    return np.array(find_indices(params, columns, tested.get(FILE, [])), np.int64)


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of listed train examples; raise if a listed file is no train image."""
    return len(find_indices(params, size.columns(), size.test_columns().get(FILE, [])))


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return what is stored in split.json: the path of the list, and a hash of its content."""
    return {"path": str(params.path), "sha256": content_hash(params.path.expanduser())}


def find_indices(
    params: Params, columns: Mapping[str, Sequence[str]], tested: Sequence[str] = ()
) -> list[int]:
    """Return the indices of the train examples whose files are in the list."""
    if FILE not in columns:
        raise ValueError("path: this data set does not name its examples by files; try index_file")
    return find_listed("path", params.path, columns[FILE], tested)

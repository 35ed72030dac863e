"""Train examples in a file of indices, counted from 0.

A .txt file has one index per line (empty lines, and text after a #, are skipped), a .json file has
a list, a .npy file has an array of integers with one axis.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from collateral.contract.messages import looked_for, quoted
from collateral.contract.params import Strict, UserPath
from collateral.data._readers.file_list import read_text
from collateral.results.provenance import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels

SUFFIXES = (".txt", ".json", ".npy")


class Params(Strict):
    """Parameters: the path of a file with the indices to forget."""

    path: UserPath = Field(
        description="File with the indices of the train examples to forget, counted from 0: .txt, "
        ".json or .npy."
    )

    @field_validator("path")
    @classmethod
    def _known_suffix(cls, value: Path) -> Path:
        if value.suffix not in SUFFIXES:
            raise ValueError(f"should end in {', '.join(SUFFIXES)}")
        return value


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the sorted indices in the file; raise if an index is repeated or out of range."""
    return _read_indices(params.path.expanduser(), len(labels.train))


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise for an invalid index or file."""
    return len(_read_indices(params.path.expanduser(), size.num_train))


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return what is stored in split.json: the path of the file, and a hash of its content."""
    return {"path": str(params.path), "sha256": content_hash(params.path.expanduser())}


def _read_indices(path: Path, total: int) -> NDArray[np.int64]:
    """Return the sorted indices in a file; raise unless all are different and in range(total)."""
    import numpy as np

    try:
        if path.suffix == ".npy":
            array = np.load(path, allow_pickle=False)
        elif path.suffix == ".json":
            array = _read_json(path)
        else:
            array = _read_text(path)
    except (OSError, ValueError, EOFError, RecursionError) as error:
        raise ValueError(f"path: '{path}': {error}{looked_for(path)}") from None
    if array.ndim != 1 or not array.size or not np.issubdtype(array.dtype, np.integer):
        found = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"path: '{path}': {found}; expected a list of whole numbers")
    indices, counts = np.unique(array, return_counts=True)
    if wrong := [*indices[counts > 1], *indices[(indices < 0) | (indices >= total)]]:
        expected = f"different indices of train examples, 0 to {total - 1}"
        raise ValueError(f"path: '{path}': {wrong[0]}; expected {expected}")
    return indices.astype(np.int64)


def _read_json(path: Path) -> NDArray[Any]:
    """Return the list in a JSON file; raise if an item is not an integer."""
    import numpy as np

    content = json.loads(path.read_text(encoding="utf-8"))
    for item in content if isinstance(content, list) else ():
        if type(item) is not int:  # bool is a subclass of int, so isinstance would accept True.
            raise ValueError(f"{json.dumps(item)} is not a whole number")
    return np.array(content)


def _read_text(path: Path) -> NDArray[Any]:
    """Return the indices in a text file; raise if a line is not an integer."""
    import numpy as np

    indices = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        text = line.partition("#")[0].strip()
        # int() would accept 1_000 and digits that are not ASCII.
        if text and not (text.isascii() and text.removeprefix("-").isdecimal()):
            raise ValueError(f"line {number}: {quoted(text)} is not a whole number")
        if text:
            indices.append(int(text))
    return np.array(indices)

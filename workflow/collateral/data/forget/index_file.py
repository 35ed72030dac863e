"""Train examples in a file of indices, counted from 0.

A .txt file has one index per line (empty lines, and text after a #, are skipped), a .json file has
a list, a .npy file has an array of integers with one axis.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from collateral.contract.messages import looked_for
from collateral.contract.params import Strict, UserPath
from collateral.results.provenance import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels

SUFFIXES = (".txt", ".json", ".npy")


class Params(Strict):
    """Parameters: the path of a file with the indices to forget."""

    path: UserPath = Field(description="The list of indices in the train set: .txt, .json or .npy.")

    @field_validator("path")
    @classmethod
    def _known_suffix(cls, value: Path) -> Path:
        if value.suffix not in SUFFIXES:
            raise ValueError(f"should end in {', '.join(SUFFIXES)}")
        return value


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the sorted indices in the file; raise if an index is repeated or out of range."""
    return _check_indices(params, len(labels.train))


def _check_indices(params: Params, total: int) -> NDArray[np.int64]:
    import numpy as np

    path = params.path.expanduser()
    indices, counts = np.unique(_read_indices(path), return_counts=True)
    if not len(indices):
        raise ValueError(f"path: '{path}': no index in it; expected at least one")
    if (counts > 1).any():
        raise ValueError(f"path: '{path}': {indices[counts > 1][0]} stands there twice")
    if indices[0] < 0 or indices[-1] >= total:
        bad = indices[0] if indices[0] < 0 else indices[-1]
        raise ValueError(
            f"path: '{path}': {bad}: no train example has this index; "
            f"there are {total}, 0 to {total - 1}"
        )
    return indices


def count(size: DatasetSize, params: Params) -> int:
    """Return the number of examples that `select` returns; raise for an invalid index or file."""
    return len(_check_indices(params, size.num_train))


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return the parameters to record: the path of the file, and a hash of its content."""
    return {"path": str(params.path), "sha256": content_hash(params.path.expanduser())}


def _read_indices(path: Path) -> NDArray[np.int64]:
    """Read the indices in a file."""
    import numpy as np

    if not path.exists():
        raise ValueError(f"path: '{path}': there is no such file{looked_for(path)}")
    try:
        return np.array(_READERS[path.suffix](path), dtype=np.int64)
    except (ValueError, EOFError, OverflowError) as error:
        raise ValueError(f"path: '{path}': {error}") from None


def _read_text(path: Path) -> list[int]:
    lines = [
        line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()
    ]
    for number, line in enumerate(lines, start=1):
        # Digits must be ASCII: int() does not read "²", although it is a digit.
        if line and not (line.isascii() and line.removeprefix("-").isdecimal()):
            raise ValueError(f"line {number}: '{line}' is not a whole number")
    return [int(line) for line in lines if line]


def _read_json(path: Path) -> list[int]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, list):
        raise ValueError(f"a {type(content).__name__}; expected a list of whole numbers")
    for item in content:
        if type(item) is not int:  # bool is a subclass of int, so isinstance would accept True.
            raise ValueError(f"{json.dumps(item)} is not a whole number")
    return content


def _read_npy(path: Path) -> list[int]:
    import numpy as np

    array = np.load(path, allow_pickle=False)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        found = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"{found}; expected an array of integers with one axis")
    numbers: list[int] = array.tolist()
    return numbers


_READERS = {".txt": _read_text, ".json": _read_json, ".npy": _read_npy}

"""Train examples listed in a file by their places in the data set, counted from 0.

A .txt file has one a line (empty lines, and what follows a #, do not count), a .json file a list,
a .npy file an array of integers with one axis.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, field_validator

from collateral.contract.params import Strict, UserPath
from collateral.contract.spelling import looked_for
from collateral.results.chain import content_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from collateral.contract.data import DatasetSize
    from collateral.results.dataset import Labels

SUFFIXES = (".txt", ".json", ".npy")


class Params(Strict):
    """Which file."""

    path: UserPath = Field(description="The list of places in the train set: .txt, .json or .npy.")

    @field_validator("path")
    @classmethod
    def _known_suffix(cls, value: Path) -> Path:
        if value.suffix not in SUFFIXES:
            raise ValueError(f"should end in {', '.join(SUFFIXES)}")
        return value


def unfit(size: DatasetSize, params: Params) -> Iterator[tuple[str, str]]:
    """Yield a key and what is wrong with its value, as far as the number of examples can tell."""
    if not params.path.expanduser().exists():
        return
    try:
        _places(params, size.num_train)
    except ValueError as error:
        yield "path", str(error).removeprefix("path: ")


def select(labels: Labels, params: Params) -> NDArray[np.int64]:
    """Return the listed train examples, ascending; refuse a list that is not sound."""
    return _places(params, len(labels.train))


def _places(params: Params, total: int) -> NDArray[np.int64]:
    import numpy as np

    path = params.path.expanduser()
    places, counts = np.unique(_listed(path), return_counts=True)
    if not len(places):
        raise ValueError(f"path: '{path}': no index in it; expected at least one")
    if (counts > 1).any():
        raise ValueError(f"path: '{path}': {places[counts > 1][0]} stands there twice")
    if places[0] < 0 or places[-1] >= total:
        bad = places[0] if places[0] < 0 else places[-1]
        raise ValueError(
            f"path: '{path}': {bad}: no train example has this index; "
            f"there are {total}, 0 to {total - 1}"
        )
    return places


def count(_size: DatasetSize, params: Params) -> int:
    """Return how many examples `select` returns."""
    return len(_listed(params.path.expanduser()))


def chosen(_labels: Labels, params: Params) -> dict[str, Any]:
    """Return the file's name and the hash of its content for the record."""
    return {"path": str(params.path), "sha256": content_hash(params.path.expanduser())}


def _listed(path: Path) -> NDArray[np.int64]:
    """Return what the file lists."""
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
        # Of ASCII alone, because "²" is a digit too, and no number.
        if line and not (line.isascii() and line.removeprefix("-").isdecimal()):
            raise ValueError(f"line {number}: '{line}' is not a whole number")
    return [int(line) for line in lines if line]


def _read_json(path: Path) -> list[int]:
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, list):
        raise ValueError(f"a {type(content).__name__}; expected a list of whole numbers")
    for item in content:
        if type(item) is not int:  # True is an int to isinstance
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

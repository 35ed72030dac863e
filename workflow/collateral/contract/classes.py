"""Classes by name or by index, shares of examples, and further columns of a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from collateral.contract.messages import unknown_name

Columns = Mapping[str, Sequence[Any]]  # one value for each train example, by the column's name
FILE = "file"  # the column with the path of an example's file


def class_index(wanted: str | int, names: Sequence[str]) -> int:
    """Return the index of the class `wanted`, given by name or by index."""
    if isinstance(wanted, str):
        if wanted not in names:
            raise ValueError(unknown_name("class", wanted, names))
        return names.index(wanted)
    if not 0 <= wanted < len(names):
        raise ValueError(f"no class {wanted}; there are {len(names)}, 0 to {len(names) - 1}")
    return wanted


def class_indices(wanted: Sequence[str | int], names: Sequence[str]) -> list[int]:
    """Return the indices of the classes `wanted`, in their order; none may be there twice."""
    indices = [class_index(item, names) for item in wanted]
    for place, index in enumerate(indices):
        if index in indices[:place]:
            raise ValueError(f"class '{names[index]}' is listed twice")
    return indices


def count_share(count: int, fraction: float) -> int:
    """Return floor(count * fraction) for the decimal that the user wrote.

    In binary, 0.29 * 100 is just below 29 and would lose an example.
    """
    return int(count * Decimal(str(fraction)))

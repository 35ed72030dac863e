"""Classes by name or by index, as a config gives them; light enough for the Snakefile."""

from __future__ import annotations

from collections.abc import Sequence

from collateral.contract.spelling import unknown


def class_index(wanted: str | int, names: Sequence[str]) -> int:
    """Return the index of the class `wanted`, given by name or by index."""
    if isinstance(wanted, str):
        if wanted not in names:
            raise ValueError(unknown("class", wanted, names))
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

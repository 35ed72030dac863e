"""Who is near the forget set, from the numbers of the finding `locality`.

Findings of your own may import it; they say AFTER = ("locality",).
"""

import numpy as np
from numpy.typing import NDArray

from collateral.contract.protocols import CellResults

Mask = NDArray[np.bool_]
NEAR, FAR = "near", "far"
# The sets, and the parts of them that `at` names; None is the whole.
PARTS = {"forget": (None,), "retain": (None, NEAR, FAR), "test": (None, NEAR, FAR)}
PART_HEADINGS = {
    ("forget", None): "Forgotten",
    ("retain", NEAR): "Near, retained",
    ("retain", FAR): "Far, retained",
    ("test", NEAR): "Near, test",
    ("test", FAR): "Far, test",
}


def near_by_seed(cell: CellResults, name: str) -> list[Mask]:
    """Return which examples of a set are near, by seed: as many of the top as were counted."""
    return [
        most_similar(similarity, int(count))
        for similarity, count in zip(cell.similarity[name], _counts(cell, name), strict=True)
    ]


def near_in_the_mean(cell: CellResults, name: str) -> Mask:
    """Return which examples of a set are near by similarity in the mean over seeds."""
    count = round(float(_counts(cell, name).mean()))
    return most_similar(cell.similarity[name].mean(axis=0), count)


def _counts(cell: CellResults, name: str) -> NDArray[np.float64]:
    """Return how many examples of a set are near, one number per seed."""
    counts = cell.values(cell.reference, "near_count", name)
    if np.isnan(counts).any():
        raise ValueError(
            f"who is near among {name!r} is not known: it is of 'retain' and 'test', and a finding "
            'that reads it has AFTER = ("locality",) in its __init__.py'
        )
    return counts


def most_similar(similarity: NDArray[np.floating], count: int) -> Mask:
    """Return which are the `count` most similar; equal ones are all in, as in a bin."""
    if count == 0:
        return np.zeros(len(similarity), dtype=bool)
    least = np.partition(similarity, len(similarity) - count)[len(similarity) - count]
    return np.asarray(similarity >= least)

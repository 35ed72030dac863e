"""Masks of the examples near the forget set, for findings of the package and of plug-ins."""

from collateral.findings.inputs import CellResults
from collateral.metrics.similarity import Mask, most_similar_mask

NEAR, FAR = "near", "far"
# For each subset, the groups of examples over which a metric is averaged; None is all examples.
PARTS = {"forget": (None,), "retain": (None, NEAR, FAR), "test": (None, NEAR, FAR)}
# Heading of a table column, by subset and group of examples: near, far or None (all examples).
PART_HEADINGS = {
    ("forget", None): "Forgotten",
    ("retain", NEAR): "Near, retained",
    ("retain", FAR): "Far, retained",
    ("test", NEAR): "Near, test",
    ("test", FAR): "Far, test",
}


def near_by_seed(cell: CellResults, name: str) -> Mask:
    """Return a mask (seeds, examples): true for examples of a subset near the forget set."""
    if name not in cell.near:
        raise ValueError(f"near examples are defined for {' and '.join(cell.near)}, not {name!r}")
    return cell.near[name]


def near_in_the_mean(cell: CellResults, name: str) -> Mask:
    """Return a mask of the examples whose mean similarity to the forget set over seeds is highest.

    The number of near examples is the mean number of near examples per seed, rounded.
    """
    count = round(float(near_by_seed(cell, name).sum(axis=1).mean()))
    return most_similar_mask(cell.similarity[name].mean(axis=0), count)

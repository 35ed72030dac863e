"""Masks of the examples near the forget set, for findings of the package and of plug-ins."""

from collateral.findings.inputs import CellResults
from collateral.metrics.similarity import Mask, most_similar_mask

NEAR, FAR = "near", "far"
# For each subset: which examples a metric is averaged over; None means all examples.
PARTS = {"forget": (None,), "retain": (None, NEAR, FAR), "test": (None, NEAR, FAR)}
# Heading of the table column of each subset, and of its near, far or (None) all examples.
PART_HEADINGS = {
    ("forget", None): "Forgotten",
    ("retain", NEAR): "Near, retained",
    ("retain", FAR): "Far, retained",
    ("test", NEAR): "Near, test",
    ("test", FAR): "Far, test",
}


def near_by_seed(cell: CellResults, name: str) -> Mask:
    """Return the mask of a subset's examples near the forget set, (seeds, examples)."""
    if name not in cell.near:
        raise ValueError(f"near examples are defined for {' and '.join(cell.near)}, not {name!r}")
    return cell.near[name]


def near_in_the_mean(cell: CellResults, name: str) -> Mask:
    """Return the mask of the examples nearest to the forget set in the mean over seeds.

    The number of near examples is the rounded mean of the numbers in single seeds.
    """
    count = round(float(near_by_seed(cell, name).sum(axis=1).mean()))
    return most_similar_mask(cell.similarity[name].mean(axis=0), count)

"""Masks of the examples near the forget set, for findings of the package and of plug-ins."""

from collateral.findings.inputs import CellResults
from collateral.metrics.similarity import Mask

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


def split_by_distance(cell: CellResults, name: str) -> dict[str, Mask]:
    """Return masks of the examples of a subset that are near the forget set, and far from it."""
    if name not in cell.near:
        raise ValueError(f"near examples are defined for {' and '.join(cell.near)}, not {name!r}")
    return {NEAR: cell.near[name], FAR: cell.far[name]}

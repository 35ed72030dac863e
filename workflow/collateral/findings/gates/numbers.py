"""What the gates look at, from the split, the records, the outputs and the images' copies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from collateral.contract.batches import batch_sizes
from collateral.contract.rows import Row
from collateral.findings._shared.likeness import LEAST_SIDE
from collateral.findings.gates.copies import EXACT
from collateral.results.layout import ORIGINAL, RETRAIN

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the facts of a cell: of its split, of each Retrain, and of its images."""
    yield Row(cell.reference, "split_faults", float(split_faults(cell)))
    if cell.reference == RETRAIN:
        yield from _of_retrain(cell)
    for metric, value in copy_counts(cell).items():
        yield Row(cell.reference, metric, value)


def _of_retrain(cell: CellResults) -> Iterator[Row]:
    bases = {result.seed: result for result in cell.results() if result.run == ORIGINAL}
    for retrained in cell.retrained():
        seed = retrained.seed
        yield Row(RETRAIN, "trained_on_split", trained_on_split(cell, retrained), seed)
        if retrained.record.get("params", {}).get("batch_size"):  # weights of the user have none
            yield Row(RETRAIN, "smallest_batch", float(smallest_batch(cell, retrained)), seed)
        yield Row(RETRAIN, "base_distance", distance(bases.get(seed), retrained), seed)
        if (base := bases.get(seed)) and base.record.get("weights"):
            yield Row(RETRAIN, "base_ta_gap", unaffected_gap(cell, base, retrained), seed)


def split_faults(cell: CellResults) -> int:
    """Count the ids that are not in exactly one of both sets."""
    ids, total = np.concatenate([cell.split.forget, cell.split.retain]), len(cell.labels.train)
    is_id = (ids >= 0) & (ids < total)
    counts = np.bincount(ids[is_id], minlength=total)
    return int(np.count_nonzero(counts != 1) + np.count_nonzero(~is_id))


def trained_on_split(cell: CellResults, retrained: Result) -> float:
    """Tell whether Retrain saw the retained ids; NaN where its record is from before it said so."""
    known = retrained.record.get("trained_on")
    return math.nan if known is None else float(known == cell.split.retain_hash)


def smallest_batch(cell: CellResults, retrained: Result) -> int:
    """Return the size of the smallest batch of an epoch, by the parameters in Retrain's record."""
    params, count = retrained.record["params"], len(cell.split.retain)
    if params["checkpoint"] == "best_validation":
        count -= max(1, round(params["validation_share"] * count))
    return min(batch_sizes(count, params["batch_size"]))


def distance(base: Result | None, retrained: Result) -> float:
    """Return how far the base's confidences are from Retrain's; NaN where one has none."""
    if base is None or base.is_diverged or retrained.is_diverged:
        return math.nan
    sets = ((base.train, retrained.train), (base.test, retrained.test))
    return float(np.mean(np.concatenate([np.abs(a.confidence - b.confidence) for a, b in sets])))


def unaffected_gap(cell: CellResults, base: Result, retrained: Result) -> float:
    """Return how much better Retrain is than the base on test examples of unaffected classes."""
    asked = ~np.isin(cell.labels.test, cell.split.affected)
    if base.is_diverged or retrained.is_diverged or not asked.any():
        return math.nan
    right = [(one.test.prediction == cell.labels.test)[asked].mean() for one in (retrained, base)]
    return float(right[0] - right[1])


def copy_counts(cell: CellResults) -> dict[str, float]:
    """Count the forgotten images with a copy; NaN where nobody looked."""
    found, size = cell.neighbours.copies, cell.neighbours.image_size
    side = math.nan if size is None else float(min(size))
    is_exact = found[:, 2] == EXACT if found is not None else np.array([])
    exact = found[is_exact, 0] if found is not None else np.array([])
    unknown, too_small = found is None, side < LEAST_SIDE
    return {
        "exact_copies": math.nan if unknown else float(len(np.unique(exact))),
        "near_copies": math.nan if unknown or too_small else float((~is_exact).sum()),
        "image_side": side,
    }

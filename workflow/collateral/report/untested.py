"""Measures that verdicts do not test, in which a method that is like Retrain may still differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collateral.contract.verdicts import ALPHA
from collateral.findings.metric_index import find_metric
from collateral.metrics.differences import LEAST_SEEDS, unpaired
from collateral.results.table import CellTable

# Names, in the sentences of the page, of the measures that are compared here.
UNTESTED = {
    "rmia_auc": "RMIA AUC",
    "ta_affected": "TA of the affected classes",
    "ra_affected": "RA of the affected classes",
}

SUBSETS = {"ta_affected": "test", "ra_affected": "retain"}


@dataclass(frozen=True)
class Untested:
    """A measure that verdicts do not test, in which a method is shown to differ from Retrain."""

    label: str  # name of the method
    cell: str  # title of the cell
    name: str  # name of the measure
    value: str  # mean over seeds as text, with its unit
    retrained: str  # the same of Retrain
    interval: str  # interval of the difference as text, with its unit
    num_compared: int  # number of comparisons that share the level of 5 %


def find_untested(cells: Sequence[CellTable], runs: Sequence[str]) -> list[Untested]:
    """Return where these runs are shown to differ from Retrain in a measure outside the verdict.

    All comparisons together have the level of 5 % (Bonferroni), so that an interval that excludes
    zero is wrong about any of them in at most 5 % of cases.
    """
    places = [(cell, run, at) for cell in cells for run in runs for at in UNTESTED]
    known = [place for place in places if _is_known(*place)]
    found = (_compare(*place, len(known)) for place in known)
    return [one for one in found if one]


def list_compared(cells: Sequence[CellTable], runs: Sequence[str]) -> list[str]:
    """Return the names of the measures that are known for all of these runs."""
    return [
        name
        for at, name in UNTESTED.items()
        if runs and all(_is_known(cell, run, at) for cell in cells for run in runs)
    ]


def _is_known(cell: CellTable, run: str, at: str) -> bool:
    """Tell whether a measure can be compared, and is not one that the verdict tests already."""
    if at in SUBSETS and _are_neighbours(cell, SUBSETS[at], _count_examples(cell, at)):
        return False
    values = (cell.values(one, at) for one in (run, cell.reference))
    return all(np.count_nonzero(~np.isnan(found)) >= LEAST_SEEDS for found in values)


def _are_neighbours(cell: CellTable, subset: str, count: float) -> bool:
    """Tell whether the examples of the affected classes are the near examples of a subset."""
    counts = (cell.number(cell.reference, "near_class", subset, at) for at in cell.forgotten)
    near = cell.number(cell.reference, "near_count", subset)
    return near == count == sum(found for found in counts if not math.isnan(found))


def _compare(cell: CellTable, run: str, at: str, num_compared: int) -> Untested | None:
    """Return the difference of a run from Retrain in one measure; None if it is not shown."""
    own, retrained = (cell.values(one, at) for one in (run, cell.reference))
    step = 1 / _count_examples(cell, at)
    # As in verdicts, an accuracy is not known better than to one example.
    contrast = unpaired(own, retrained, step**2 / (2 * len(cell.seeds)))
    low, high = (float(end) for end in contrast.interval(ALPHA / num_compared))
    if not (low > 0 or high < 0):
        return None
    metric = find_metric(at)
    unit = f" {metric.unit}" if metric.unit else ""
    mean, mean_of_retrain = (
        f"{metric.text(float(np.nanmean(values)))}{unit}" for values in (own, retrained)
    )
    ends = ", ".join(metric.text(end, sign=True) for end in (low, high))
    points = " points" if metric.unit == "%" else ""
    return Untested(
        cell.labels[run],
        cell.title,
        UNTESTED[at],
        mean,
        mean_of_retrain,
        f"[{ends}]{points}",
        num_compared,
    )


def _count_examples(cell: CellTable, at: str) -> float:
    """Return on how many examples a measure is an accuracy; infinite for other measures."""
    sizes = cell.forgotten.values()
    counts = {
        "ta_affected": cell.number(cell.reference, "rmia_non_members"),
        "ra_affected": float(sum(of - forgotten for forgotten, of in sizes)),
    }
    count = counts.get(at, math.inf)
    return count if count > 0 else math.inf  # NaN and 0: unknown

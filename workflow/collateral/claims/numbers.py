"""Numbers of a cell as claims need them: over seeds, as deviations, and in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

from collateral.claims.claim import Unsaid
from collateral.contract.rows import At
from collateral.findings.catalogue import metric_of
from collateral.results.table import REFERENCE, CellTable, mean

BASELINES = ("rl", "ft", "ga", "iu", "salun", "amun")
METHODS = (*BASELINES, "ltd")
LABELS = {
    **{run: run.upper() for run in ("rl", "ft", "ga", "iu", "amun", "ltd")},
    **{"retrain": "Retrain", "salun": "SalUn", "neighbor": "Neighbor"},
}

Measure = Callable[[CellTable, str], float]  # of a run


def name_of(cell: CellTable, run: str) -> str:
    """Return what a run is called."""
    return LABELS.get(run) or cell.benchmark.labels.get(run, run)


def number(cell: CellTable, run: str, metric: str, set: str = "", at: At = None) -> float:
    """Return a mean over seeds, or what is over seeds."""
    found = mean(cell.values(run, metric, set, at))
    found = cell.number(run, metric, set, at) if math.isnan(found) else found
    if math.isnan(found):
        raise Unsaid(f"no {metric_of(metric).label or metric} of {name_of(cell, run)}")
    return found


def deviation(cell: CellTable, run: str, metric: str) -> float:
    """Return how far a run's mean is above Retrain's."""
    return number(cell, run, metric) - number(cell, REFERENCE, metric)


def value_of(metric: str) -> Measure:
    """Measure a run by its number."""
    return lambda cell, run: number(cell, run, metric)


def distance_of(metric: str) -> Measure:
    """Measure a run by how far its mean is from Retrain's, above or below."""
    return lambda cell, run: abs(deviation(cell, run, metric))


def known(
    cell: CellTable, runs: Iterable[str], measure: Measure
) -> tuple[dict[str, float], list[str]]:
    """Return the measure of each run that has it, and the names of those that do not."""
    found, missing = {}, []
    for run in runs:
        try:
            found[run] = measure(cell, run)
        except Unsaid:
            missing.append(name_of(cell, run))
    return found, missing


def floor(cell: CellTable, metric: str) -> float:
    """Return what chance alone makes of a metric; 0 where one seed cannot tell."""
    found = cell.number(REFERENCE, "floor", at=metric)
    return 0.0 if math.isnan(found) else found


def floor_said(cell: CellTable, metric: str) -> str:
    """Return the floor as a sentence ends with it; nothing where there is none."""
    size = floor(cell, metric)
    return f" (floor {said(metric, size)})" if size else ""


def is_lower(one: float, other: float, size: float) -> bool | None:
    """Tell whether a number is below another; None where no more than the floor is between them."""
    return None if size and abs(one - other) <= size else one < other


def places(found: Mapping[str, float], run: str, size: float) -> tuple[int, int]:
    """Return the first and the last place, from the lowest on, that a run may have by chance."""
    said = [is_lower(value, found[run], size) for other, value in found.items() if other != run]
    return 1 + said.count(True), 1 + said.count(True) + said.count(None)


def said(metric: str, value: float, *, sign: bool = False) -> str:
    """Return a number as tables show it."""
    return metric_of(metric).text(value, sign=sign)


def listed(cell: CellTable, found: Mapping[str, float], metric: str, *, sign: bool = False) -> str:
    """Return runs with their numbers: "LTD 2.4, IU 6.6"."""
    return ", ".join(f"{name_of(cell, r)} {said(metric, v, sign=sign)}" for r, v in found.items())


def in_order(found: Mapping[str, float]) -> dict[str, float]:
    """Return the same from the lowest on."""
    return dict(sorted(found.items(), key=lambda one: one[1]))

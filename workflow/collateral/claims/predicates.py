"""What many claims ask of a cell: who is lowest, who is nearest to Retrain, by how much one is off.

Limits are rates in [0, 1]; words like "about" and "far" of the paper are numbers here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from collateral.claims.claim import Found, Test, Unsaid, joined
from collateral.claims.numbers import (
    METHODS,
    Measure,
    deviation,
    distance_of,
    floor,
    in_order,
    known,
    listed,
    name_of,
    number,
    places,
    said,
    value_of,
)
from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable

Is = Callable[[float], bool]
FEW = 0.05  # five points: what stays as it is moves by less
GAP, AFFECTED = "avg_gap", "avg_gap_affected"


def is_above(least: float) -> Is:
    """Ask whether a number is above a limit."""
    return lambda value: value > least


def is_below(most: float) -> Is:
    """Ask whether a number is below a limit."""
    return lambda value: value < most


def is_between(low: float, high: float) -> Is:
    """Ask whether a number is between two limits."""
    return lambda value: low <= value <= high


def place(run: str, metric: str, wanted: int) -> Test:
    """Ask whether a run has the lowest, second or third lowest number of all."""
    label = f"lowest {metric_of(metric).label}"
    return _placed(run, metric, wanted, value_of(metric), label)


def lowest(run: str, metric: str) -> Test:
    """Ask whether a run has the lowest number of all."""
    return place(run, metric, 1)


def nearest(run: str, metric: str) -> Test:
    """Ask whether a run is nearest to Retrain by one metric."""
    label = f"nearest in {metric_of(metric).label}"
    return _placed(run, metric, 1, distance_of(metric), label)


def _placed(run: str, metric: str, wanted: int, measure: Measure, label: str) -> Test:
    def test(cell: CellTable) -> Found:
        found, missing = known(cell, METHODS, measure)
        if run not in found:
            raise Unsaid(f"no {metric_of(metric).label} of {name_of(cell, run)}")
        ranked = in_order(found)
        first, last = places(found, run, floor(cell, metric))
        text = f"{label}: {listed(cell, ranked, metric)}{_noise(cell, metric, run, found)}"
        if first > wanted:
            return Found(False, text)
        if missing:
            return Found(None, f"{text}; not here: {', '.join(missing)}")
        # A tie that decides the place is no finding.
        return Found(None if first < last and wanted <= last else last == wanted, text)

    return test


def _noise(cell: CellTable, metric: str, run: str, found: Mapping[str, float]) -> str:
    """Say what chance makes of a metric, and from whom it does not tell a run apart."""
    size = floor(cell, metric)
    tied = [name_of(cell, r) for r, v in found.items() if r != run and abs(v - found[run]) <= size]
    tie = f": {name_of(cell, run)} ties with {', '.join(tied)}" if tied else ""
    return f" (floor {said(metric, size)}{tie})" if size else ""


def off(runs: Sequence[str], metric: str, is_so: Is) -> Test:
    """Ask of the deviation from Retrain whether it is so for every run."""
    return each(runs, metric, lambda cell, run: deviation(cell, run, metric), is_so, sign=True)


def each(
    runs: Sequence[str], metric: str, measure: Measure, is_so: Is, *, sign: bool = False
) -> Test:
    """Ask whether something is so of every run; those that are not here leave it open."""

    def test(cell: CellTable) -> Found:
        found, missing = known(cell, runs, measure)
        text = f"{'Δ ' * sign}{metric_of(metric).label}: {listed(cell, found, metric, sign=sign)}"
        lacking = [Found(None, f"not here: {', '.join(missing)}")] if missing else []
        if not found:
            return lacking[0]
        return joined([Found(all(map(is_so, found.values())), text), *lacking])

    return test


def value(runs: Sequence[str], metric: str, is_so: Is) -> Test:
    """Ask of the number itself whether it is so for every run."""
    return each(runs, metric, value_of(metric), is_so)


def against(run: str, other: str, metric: str, factor: float) -> Test:
    """Ask whether a run's number is below `factor` times another's."""

    def test(cell: CellTable) -> Found:
        one, two = number(cell, run, metric), number(cell, other, metric)
        names = [name_of(cell, which) for which in (run, other)]
        shown = [said(metric, which) for which in (one, two)]
        text = f"{metric_of(metric).label}: {names[0]} {shown[0]}, {names[1]} {shown[1]}"
        return Found(one < factor * two, text)

    return test


def opposite(test: Test) -> Test:
    """Ask whether something is not so."""

    def turned(*cells: CellTable) -> Found:
        found = test(*cells)
        return Found(None if found.holds is None else not found.holds, found.text)

    return turned


def spread(cell: CellTable, runs: Sequence[str], metric: str, most: float) -> Found:
    """Ask whether runs differ in a mean by less than `most`."""
    found = [number(cell, run, metric) for run in runs]
    low, high = min(found), max(found)
    text = f"{metric_of(metric).label} {said(metric, low)} to {said(metric, high)}"
    return Found(high - low < most, text)

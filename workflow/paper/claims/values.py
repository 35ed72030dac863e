"""Tests on single numbers of runs: lowest, nearest to Retrain, within limits, and the like.

The first arguments of a test are one or more cells; the others come from claims.toml.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

from collateral.contract.rows import At
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.results.layout import RETRAIN
from collateral.results.table import CellTable
from paper.claims.results import LABELS, Found, Missing, join, share
from paper.reference import printed_number

BASELINES = ("rl", "ft", "ga", "iu", "salun", "amun")
METHODS = (*BASELINES, "ltd")
GAPS = ("avg_gap", "avg_gap_affected")

LIMITS = {"above": gt, "below": lt, "least": ge, "most": le}

Limits = Mapping[str, float]
Measure = Callable[..., float]  # function of cell, run and metric that returns a number


def run_name(cell: CellTable, run: str) -> str:
    """Return the printed name of a run."""
    return LABELS.get(run) or cell.benchmark.labels.get(run, run)


def number(cell: CellTable, run: str, metric: str, subset: str = "", at: At = None) -> float:
    """Return the mean over seeds, or a number that is stored once for all seeds."""
    found = mean(cell.values(run, metric, subset, at))
    found = cell.number(run, metric, subset, at) if math.isnan(found) else found
    if math.isnan(found) and not cell.has_retrain:
        found = printed_number(cell, run, metric)
    if math.isnan(found):
        raise Missing(f"no {find_metric(metric).label or metric} of {run_name(cell, run)}")
    return found


def from_retrain(cell: CellTable, run: str, metric: str) -> float:
    """Return a run's mean minus Retrain's."""
    return number(cell, run, metric) - number(cell, RETRAIN, metric)


def distance(cell: CellTable, run: str, metric: str) -> float:
    """Return the absolute difference between a run's mean and Retrain's."""
    return abs(from_retrain(cell, run, metric))


def available(
    cell: CellTable, runs: Iterable[str], measure: Measure, of: Any
) -> tuple[dict[str, float], list[str]]:
    """Return the measure of each run that has one, and the names of the other runs."""
    found, missing = {}, []
    for run in runs:
        try:
            found[run] = measure(cell, run, of)
        except Missing:
            missing.append(run_name(cell, run))
    return found, missing


def floor(cell: CellTable, metric: str) -> float:
    """Return the noise floor of a metric; 0 if it is unknown because there is one seed."""
    found = cell.number(cell.reference, "floor", at=metric)
    return 0.0 if math.isnan(found) else found


def floor_text(cell: CellTable, metric: str, ties: str = "") -> str:
    """Return the noise floor in parentheses; an empty text if it is unknown."""
    size = floor(cell, metric)
    return f" (floor {shown(metric, size)}{ties})" if size else ""


def is_lower(one: float, other: float, size: float) -> bool | None:
    """Tell whether one number is lower; None if the difference is within the noise floor."""
    return None if size and abs(one - other) <= size else one < other


def possible_places(found: Mapping[str, float], run: str, size: float) -> tuple[int, int]:
    """Return the best and the worst rank of a run, given the noise floor; rank 1 is the lowest."""
    lower = [is_lower(value, found[run], size) for other, value in found.items() if other != run]
    return 1 + lower.count(True), 1 + lower.count(True) + lower.count(None)


def shown(metric: str, value: float, *, sign: bool = False) -> str:
    """Return a number as text, formatted as in tables."""
    return find_metric(metric).text(value, sign=sign)


def listing(metric: str, found: Mapping[str, float], *, sign: bool = False) -> str:
    """Return names with their numbers as text, such as "LTD 2.4, IU 6.6"."""
    return ", ".join(f"{name} {shown(metric, value, sign=sign)}" for name, value in found.items())


def listed_runs(
    cell: CellTable, found: Mapping[str, float], metric: str, *, sign: bool = False
) -> str:
    """Return names of runs with their numbers as text."""
    return listing(metric, {run_name(cell, r): value for r, value in found.items()}, sign=sign)


def ascending(found: Mapping[str, float]) -> dict[str, float]:
    """Return the runs sorted by their numbers, lowest first."""
    return dict(sorted(found.items(), key=lambda one: one[1]))


def if_complete(holds: bool, text: str, missing: Sequence[str]) -> Found:
    """Return the outcome of a test; undecided if the test holds but some runs are missing."""
    if holds and missing:
        return Found(None, f"{text}; not here: {', '.join(missing)}")
    return Found(holds, text)


def place(cell: CellTable, run: str, metric: str, wanted: int) -> Found:
    """Test whether a run has this rank among all methods; rank 1 has the lowest number."""
    return _placed(cell, run, metric, wanted, number, "lowest")


def lowest(cell: CellTable, run: str, metric: str) -> Found:
    """Test whether a run has the lowest number of all methods."""
    return place(cell, run, metric, 1)


def place_by_class(cell: CellTable, run: str, metric: str, **places: int) -> Found:
    """Test whether a run has the rank stated for the cell's class; default: rank 1."""
    found = share(cell)
    return place(cell, run, metric, places.get(found[0], 1) if found else 1)


def nearest(cell: CellTable, run: str, metric: str) -> Found:
    """Test whether a run is nearer to Retrain than all other methods."""
    return _placed(cell, run, metric, 1, distance, "nearest in")


def not_nearest(cell: CellTable, run: str, metric: str) -> Found:
    """Test whether another method is nearer to Retrain."""
    found = nearest(cell, run, metric)
    return Found(None if found.holds is None else not found.holds, found.text)


def _placed(
    cell: CellTable, run: str, metric: str, wanted: int, measure: Measure, words: str
) -> Found:
    found, missing = available(cell, METHODS, measure, metric)
    label = find_metric(metric).label
    if run not in found:
        raise Missing(f"no {label} of {run_name(cell, run)}")
    size = floor(cell, metric)
    first, last = possible_places(found, run, size)
    tied = [r for r, v in found.items() if r != run and abs(v - found[run]) <= size]
    names = ", ".join(run_name(cell, other) for other in tied)
    ties = f": {run_name(cell, run)} ties with {names}" if tied else ""
    text = f"{words} {label}: {listed_runs(cell, ascending(found), metric)}"
    text += floor_text(cell, metric, ties)
    if first > wanted:
        return Found(False, text)
    if missing:
        return if_complete(True, text, missing)
    # The test is undecided if the rank depends on a difference within the noise floor.
    return Found(None if first < last and wanted <= last else last == wanted, text)


def value(cell: CellTable, runs: Sequence[str], metric: str, **limits: float) -> Found:
    """Test whether every run's number is within limits."""
    return _within(cell, runs, metric, number, limits)


def deviation(cell: CellTable, runs: Sequence[str], metric: str, **limits: float) -> Found:
    """Test whether every run's difference from Retrain is within limits."""
    return _within(cell, runs, metric, from_retrain, limits)


def _within(
    cell: CellTable, runs: Sequence[str], metric: str, measure: Measure, limits: Limits
) -> Found:
    found, missing = available(cell, runs, measure, metric)
    sign = measure is from_retrain
    label = f"{'Δ ' * sign}{find_metric(metric).label}"
    text = f"{label}: {listed_runs(cell, found, metric, sign=sign)}"
    parts = [Found(are_within(found.values(), limits), text)] if found else []
    parts += [Found(None, f"not here: {', '.join(missing)}")] if missing else []
    return join(parts)


def are_within(values: Iterable[float], limits: Limits) -> bool:
    """Tell whether all values keep the limits: `above`, `below` (strict), `least`, `most` (not)."""
    return all(LIMITS[name](value, limit) for value in values for name, limit in limits.items())


def less(cell: CellTable, run: str, other: str, metric: str, times: float = 1.0) -> Found:
    """Test whether a run's number is below another run's number, multiplied by `times`."""
    found = {which: number(cell, which, metric) for which in (run, other)}
    text = f"{find_metric(metric).label}: {listed_runs(cell, found, metric)}"
    return Found(found[run] < times * found[other], text)


def better_on_average(cell: CellTable, run: str) -> Found:
    """Test whether a run ranks better by Avg. Gap than by the Avg. Gap of the affected class."""
    average, affected = (_gap_places(cell, run, gap) for gap in GAPS)
    places = [f"{a} to {b}" if a < b else f"{a}" for a, b in (average, affected)]
    name = run_name(cell, run)
    text = f"{name} is number {places[0]} by the average and {places[1]} on the affected class"
    # The test is undecided if the two ranges of ranks that the noise floor allows overlap.
    is_open = average[0] < affected[1] and average[1] >= affected[0]
    return Found(None if is_open else average[1] < affected[0], text)


def _gap_places(cell: CellTable, run: str, gap: str) -> tuple[int, int]:
    found, missing = available(cell, METHODS, number, gap)
    if missing:
        raise Missing(f"not here: {', '.join(missing)}")
    return possible_places(found, run, floor(cell, gap))


def hidden_by_average(cell: CellTable, run: str, within: float, loss: float) -> Found:
    """Test whether a run's RA is near Retrain's while its RA of the affected class is far below."""
    ra, affected = (number(cell, run, metric) for metric in ("ra", "ra_affected"))
    shown_ra, shown_affected = shown("ra", ra), shown("ra_affected", affected)
    text = f"{run_name(cell, run)}'s RA {shown_ra}, of the affected class {shown_affected}"
    return Found(ra - affected > loss and abs(from_retrain(cell, run, "ra")) < within, text)


def retrain_knows_the_rest(half: CellTable, most: CellTable, least: float) -> Found:
    """Test whether Retrain without 90 % of a class is still accurate on the retained rest.

    The difference to its accuracy on the forgotten part must be larger than without 50 %.
    """
    kept, gone = (
        [number(cell, RETRAIN, metric) for cell in (half, most)] for metric in ("ra_affected", "ua")
    )
    ras, uas = ([shown("ua", value) for value in values] for values in (kept, gone))
    text = f"Retrain's affected RA {ras[0]} and at 90 % {ras[1]}, UA {uas[0]} and {uas[1]}"
    return Found(kept[1] >= least and kept[1] - gone[1] > kept[0] - gone[0], text)


def differs_between_classes(*arguments: Any, above: float) -> Found:
    """Test whether a run's number differs between cells by more than `above`."""
    *cells, run, metric = arguments
    if len(cells) < 2:
        raise Missing("one class")
    found = {cell.name: number(cell, run, metric) for cell in cells}
    text = f"{LABELS[run]}'s {find_metric(metric).label}: {listing(metric, found)}"
    return Found(max(found.values()) - min(found.values()) > above, text)


def gap_mostly_by(cell: CellTable, run: str, term: str) -> Found:
    """Test whether a metric is the largest term of a run's Avg. Gap, and above Retrain's."""
    terms = {name: from_retrain(cell, run, name) for name in ("ua", "ra", "ta", "mia")}
    largest = max(terms, key=lambda name: abs(terms[name]))
    parts = [f"{name.upper()} {shown(name, value, sign=True)}" for name, value in terms.items()]
    text = f"{run_name(cell, run)}: {', '.join(parts)}"
    return Found(largest == term and terms[term] > 0, text)


def nearer_and_farther(cell: CellTable, run: str, other: str, nearer: str, farther: str) -> Found:
    """Test whether a run is nearer to Retrain than another in one metric, farther in a second."""
    found = {
        metric: {which: from_retrain(cell, which, metric) for which in (run, other)}
        for metric in (nearer, farther)
    }
    near, far = ({which: abs(v) for which, v in found[m].items()} for m in (nearer, farther))
    texts = [f"Δ {m}: {listed_runs(cell, of, m, sign=True)}" for m, of in found.items()]
    return Found(near[run] < near[other] and far[run] > far[other], "; ".join(texts))

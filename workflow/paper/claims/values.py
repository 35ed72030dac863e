"""Numbers of runs that claims are tested on, and tests that use the noise floor.

Tests in claims.toml can call all functions whose first argument is `case`; evaluate.py passes it.
These return numbers as arrays (NaN if a number is missing), or the outcome of a test.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import At
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.results.layout import RETRAIN
from collateral.results.table import CellTable
from paper.claims.results import LABELS, Missing, all_hold, share
from paper.reference import printed_number

BASELINES = ("rl", "ft", "ga", "iu", "salun", "amun")
METHODS = (*BASELINES, "ltd")
GAPS = ("avg_gap", "avg_gap_affected")

Array = NDArray[np.float64]
Runs = str | Sequence[str] | Mapping[str, str]  # one run, several runs, or runs by printed name
Measure = Callable[[CellTable, str, str], float]  # function of cell, run, metric
Outcome = bool | None  # None if the results cannot decide


class Case:
    """The results that a claim is tested on. Its notes are the numbers that the tests read."""

    def __init__(self, *results: Any) -> None:
        """Store the results: one cell, several cells, or one `Theory` (its experiments)."""
        self.results = results
        self._notes: dict[str, list[str]] = {}

    @property
    def cell(self) -> CellTable:
        """The cell of the case, or the first of several cells."""
        cell: CellTable = self.results[0]
        return cell

    def note(self, label: str, *texts: str) -> None:
        """Add texts to the notes under this label; a text that is already there is not repeated."""
        known = self._notes.setdefault(label, [])
        known += [text for text in texts if text not in known]

    @property
    def text(self) -> str:
        """All notes as one text."""
        notes = self._notes.items()
        return "; ".join(
            f"{label}: {', '.join(texts)}" if texts else label for label, texts in notes
        )

    def attempt(self, test: Callable[..., Outcome], *arguments: Any) -> Outcome:
        """Run a test and return its outcome.

        If results are missing, return None and add a note that names what is missing.
        """
        try:
            return test(self, *arguments)
        except Missing as missing:
            self.note(str(missing))
            return None


def run_name(cell: CellTable, run: str) -> str:
    """Return the printed name of a run."""
    return LABELS.get(run) or cell.benchmark.labels.get(run, run)


def label(metric: str) -> str:
    """Return the printed name of a metric."""
    return find_metric(metric).label or metric


def shown(metric: str, value: float, *, sign: bool = False) -> str:
    """Return a number as text, formatted as in tables."""
    return find_metric(metric).text(value, sign=sign)


def read(cell: CellTable, run: str, metric: str, subset: str = "", at: At = None) -> float:
    """Return a run's mean of a metric over seeds, or its one number for all seeds.

    If both are missing, return NaN; but if the cell has no Retrain, derive the number from the
    paper's numbers for Retrain.
    """
    found = mean(cell.values(run, metric, subset, at))
    found = cell.number(run, metric, subset, at) if math.isnan(found) else found
    is_printed = math.isnan(found) and not cell.has_retrain
    return printed_number(cell, run, metric) if is_printed else found


def from_retrain(cell: CellTable, run: str, metric: str) -> float:
    """Return a run's mean of a metric minus Retrain's mean."""
    return read(cell, run, metric) - read(cell, RETRAIN, metric)


def distance(cell: CellTable, run: str, metric: str) -> float:
    """Return the absolute difference between a run's mean of a metric and Retrain's mean."""
    return abs(from_retrain(cell, run, metric))


def note_numbers(
    case: Case, title: str, metric: str, found: Mapping[str, float], *, sign: bool = False
) -> Array:
    """Add the numbers in `found` to the notes of the case, and return them as an array.

    The names of missing numbers are also added to the notes.
    """
    known = {name: value for name, value in found.items() if not math.isnan(value)}
    if known:
        case.note(title, *(f"{name} {shown(metric, v, sign=sign)}" for name, v in known.items()))
    if missing := [name for name in found if name not in known]:
        case.note(f"no {title} of {', '.join(missing)}")
    return np.array([*found.values()])


def number(case: Case, runs: Runs, metric: str) -> Array:
    """Return the mean of a metric over seeds for each run, and add the means to the notes."""
    found = {name: read(case.cell, run, metric) for name, run in by_name(case.cell, runs).items()}
    return note_numbers(case, label(metric), metric, found)


def delta(case: Case, runs: Runs, metric: str) -> Array:
    """Return each run's mean of a metric minus Retrain's mean.

    The differences are added to the notes of the case.
    """
    if math.isnan(read(case.cell, RETRAIN, metric)):
        raise Missing(f"no {label(metric)} of {LABELS[RETRAIN]}")
    named = by_name(case.cell, runs)
    found = {name: from_retrain(case.cell, run, metric) for name, run in named.items()}
    return note_numbers(case, f"Δ {label(metric)}", metric, found, sign=True)


def by_name(cell: CellTable, runs: Runs) -> Mapping[str, str]:
    """Return a dict from the printed name of each run to the run."""
    if isinstance(runs, Mapping):
        return runs
    return {run_name(cell, run): run for run in ([runs] if isinstance(runs, str) else runs)}


def by_cell(case: Case, run: str, metric: str) -> Array:
    """Return a run's mean of a metric in each cell of the case.

    The means are added to the notes of the case.
    """
    if len(case.results) < 2:
        raise Missing("one class")
    found = {cell.name: read(cell, run, metric) for cell in case.results}
    return note_numbers(case, f"{LABELS[run]}'s {label(metric)}", metric, found)


def noise_floor(cell: CellTable, metric: str) -> float:
    """Return the noise floor of a metric; 0 if it is unknown because there is one seed."""
    found = cell.number(cell.reference, "floor", at=metric)
    return 0.0 if math.isnan(found) else found


def floor(case: Case, metric: str) -> float:
    """Return the noise floor of a metric; if it is not 0, add it to the notes of the case."""
    if size := noise_floor(case.cell, metric):
        case.note("floor", f"{label(metric)} {shown(metric, size)}")
    return size


def is_lower(one: float, other: float, size: float) -> Outcome:
    """Tell whether `one` is less than `other`.

    None means undecided: their difference is NaN, or at most the noise floor `size`.
    """
    is_open = math.isnan(one - other) or (size and abs(one - other) <= size)
    return None if is_open else one < other


def nearer(case: Case, run: Runs, others: Runs, metric: str) -> Outcome:
    """Test whether a run's metric is nearer to Retrain's than that of every run in `others`.

    If the metric is itself a gap to Retrain, test whether the run's gap is smaller than theirs.
    """
    measure = number if metric in GAPS else delta
    (own,), rest = (np.abs(measure(case, runs, metric)) for runs in (run, others))
    size = floor(case, metric)
    return all_hold([is_lower(own, other, size) for other in rest])


def lowest(case: Case, run: str, metric: str, rank: int = 1, **ranks: int) -> Outcome:
    """Test whether a run has this rank by a metric among all methods; 1 is the lowest value.

    If the forgotten class is a key of `ranks`, the rank given there is tested instead.
    """
    found = share(case.cell)
    return _has_rank(case, run, metric, ranks.get(found[0], rank) if found else rank, read)


def nearest(case: Case, run: str, metric: str) -> Outcome:
    """Test whether a run is nearer to Retrain by a metric than all other methods."""
    return _has_rank(case, run, metric, 1, distance)


def not_nearest(case: Case, run: str, metric: str) -> Outcome:
    """Test whether some other method is nearer to Retrain by a metric than the run."""
    found = nearest(case, run, metric)
    return None if found is None else not found


def _has_rank(case: Case, run: str, metric: str, rank: int, measure: Measure) -> Outcome:
    cell, name = case.cell, run_name(case.cell, run)
    values = {other: measure(cell, other, metric) for other in METHODS}
    found = {other: value for other, value in values.items() if not math.isnan(value)}
    if run not in found:
        raise Missing(f"no {label(metric)} of {name}")
    size = noise_floor(cell, metric)
    first, last = possible_ranks(found, run, size)
    tied = [r for r, v in found.items() if r != run and abs(v - found[run]) <= size]
    ties = f": {name} ties with {', '.join(run_name(cell, r) for r in tied)}" if tied else ""
    order = sorted(found, key=lambda other: found[other])
    texts = [f"{run_name(cell, other)} {shown(metric, found[other])}" for other in order]
    words = "nearest in" if measure is distance else "lowest"
    text = f" (floor {shown(metric, size)}{ties})" if size else ""
    case.note(f"{words} {label(metric)}: {', '.join(texts)}{text}")
    if first > rank:
        return False
    if len(found) < len(METHODS):
        case.note("not here", *(run_name(cell, other) for other in METHODS if other not in found))
        return None
    # The test is undecided if the rank depends on a difference within the noise floor.
    return None if first < last and rank <= last else last == rank


def possible_ranks(found: Mapping[str, float], run: str, size: float) -> tuple[int, int]:
    """Return the best and the worst rank that a run may have; rank 1 is the lowest value.

    The rank is uncertain if other runs differ from it by at most the noise floor `size`.
    """
    lower = [is_lower(value, found[run], size) for other, value in found.items() if other != run]
    return 1 + lower.count(True), 1 + lower.count(True) + lower.count(None)


def better_on_average(case: Case, run: str) -> Outcome:
    """Test whether a run ranks better by Avg. Gap than by the Avg. Gap of the affected class."""
    average, affected = (_gap_ranks(case.cell, run, gap) for gap in GAPS)
    ranks = [f"{a} to {b}" if a < b else f"{a}" for a, b in (average, affected)]
    name = run_name(case.cell, run)
    case.note(f"{name} is number {ranks[0]} by the average and {ranks[1]} on the affected class")
    # Noise allows a range of ranks by each gap. The test is undecided if the two ranges overlap.
    is_open = average[0] < affected[1] and average[1] >= affected[0]
    return None if is_open else average[1] < affected[0]


def _gap_ranks(cell: CellTable, run: str, gap: str) -> tuple[int, int]:
    found = {other: read(cell, other, gap) for other in METHODS}
    if missing := [run_name(cell, other) for other in METHODS if math.isnan(found[other])]:
        raise Missing(f"not here: {', '.join(missing)}")
    return possible_ranks(found, run, noise_floor(cell, gap))

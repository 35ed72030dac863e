"""The verdict on each method of a cell, and a sentence with its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from collateral.findings.checks import red_gates
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict import (
    COLLAPSED,
    DAMAGED,
    HURT,
    LIKE,
    UNDECIDED,
    UNFORGOTTEN,
    UNKNOWN,
    UNLIKE,
    VERDICTS,
)
from collateral.results.table import CellTable, mean

DIFFERENCE, EQUIVALENCE = "difference", "equivalence"  # the tests, as their metrics begin
LEAST_P = 0.001


@dataclass(frozen=True)
class MethodVerdict:
    """A method, its verdict, and a sentence with the numbers that decided."""

    run: str
    label: str
    verdict: str
    sentence: str


def find_verdict(cell: CellTable, run: str) -> str:
    """Return the verdict on a method; empty where it has none, as a control."""
    number = cell.number(run, "verdict")
    return "" if math.isnan(number) else VERDICTS[int(number)]


def find_verdicts(cell: CellTable) -> Iterator[MethodVerdict]:
    """Yield the verdict on every method, in the order of the config; none with a red check."""
    for run in () if red_gates(cell) else cell.runs("method"):
        if verdict := find_verdict(cell, run):
            yield MethodVerdict(run, cell.labels[run], verdict, SENTENCES[verdict](cell, run))


def _collapsed(cell: CellTable, run: str) -> str:
    ended = cell.failure_summary(run).capitalize()
    if np.isnan(cell.values(run, "ta")).all():
        return f"{ended}."
    own, retrained = _rate(cell, run, "ta"), _rate(cell, cell.reference, "ta")
    return f"{ended + '; ' if ended else ''}TA is {own} where Retrain has {retrained}."


def _unforgotten(cell: CellTable, run: str) -> str:
    ends = " and ".join(
        f"{name}'s {_rate(cell, cell.reference, metric)}"
        for name, metric in (("the base model", "base_ua"), ("Retrain", "ua"))
    )
    above = _points(cell.number(run, "difference", at="midpoint"))
    p = _p(cell.number(run, "difference_p", at="midpoint"))
    own = _rate(cell, run, "ua")
    return f"UA is {own}, {above} above the midpoint of {ends} ({p}); {_damage(cell, run)}."


def _hurt(cell: CellTable, run: str) -> str:
    lost = _points(cell.number(run, "difference", at="near"))
    p = _p(cell.number(run, "difference_p", at="near"))
    near = f"The nearest retained examples lose {lost} against Retrain, more than the others ({p})"
    return f"{near}: {_damage(cell, run)}; {_ua(cell, run)}."


def _like(cell: CellTable, run: str) -> str:
    worst = max(cell.number(run, "equivalence_p", at=at) for at in ("ua", "damage"))
    both = f"{_ua(cell, run, EQUIVALENCE)}; {_damage(cell, run, EQUIVALENCE)}"
    return f"{_capital(both)}: 90 % intervals within {_margins(cell)} ({_p(worst)})."


def _unlike(cell: CellTable, run: str) -> str:
    return f"{_capital(_ua(cell, run))}; {_damage(cell, run)}."


def _undecided(cell: CellTable, run: str) -> str:
    both = f"{_ua(cell, run)}; {_damage(cell, run)}"
    widths = " and ".join(_points(_width(cell, run, at)) for at in ("ua", "damage"))
    return (
        f"{_capital(both)}. {len(cell.seeds)} seeds cannot tell: the intervals are {widths} wide, "
        f"and equal is what is within {_margins(cell)}."
    )


def _unknown(cell: CellTable, run: str) -> str:
    ua = cell.values(run, "ua") - cell.values(cell.reference, "ua")
    damage = cell.values(run, "damage", DAMAGED)
    numbers = {"UA is {} points from Retrain's": ua, "damage is {} points": damage}
    known = [text.format(_signed(mean(v))) for text, v in numbers.items() if not np.isnan(v).all()]
    count = np.count_nonzero(~np.isnan(ua) & ~np.isnan(damage))
    why = "with one seed" if len(cell.seeds) == 1 else f"with both in {count} of {len(ua)} seeds"
    return f"{_capital('; '.join([*known, f'{why} nobody knows what chance does']))}."


SENTENCES: dict[str, Callable[[CellTable, str], str]] = {
    COLLAPSED: _collapsed,
    UNFORGOTTEN: _unforgotten,
    HURT: _hurt,
    LIKE: _like,
    UNLIKE: _unlike,
    UNDECIDED: _undecided,
    UNKNOWN: _unknown,
}


def _ua(cell: CellTable, run: str, test: str = DIFFERENCE) -> str:
    return f"UA is {_with_interval(cell, run, 'ua', test)} points from Retrain's"


def _damage(cell: CellTable, run: str, test: str = DIFFERENCE) -> str:
    return f"damage is {_with_interval(cell, run, 'damage', test)} points"


def _with_interval(cell: CellTable, run: str, at: str, test: str) -> str:
    """Return a difference, and in brackets the interval by which the test decides."""
    low, high = (cell.number(run, f"{test}_{end}", at=at) for end in ("low", "high"))
    return f"{_signed(cell.number(run, 'difference', at=at))} [{_signed(low)}, {_signed(high)}]"


def _width(cell: CellTable, run: str, at: str) -> float:
    low, high = (cell.number(run, f"difference_{end}", at=at) for end in ("low", "high"))
    return high - low


def _margins(cell: CellTable) -> str:
    """Return the equivalence margins of UA and damage."""
    margins = [cell.number(cell.reference, "margin", at=at) for at in ("ua", "damage")]
    return " and ".join(f"±{_points(margin)}" for margin in margins)


def _rate(cell: CellTable, run: str, metric: str) -> str:
    return f"{find_metric(metric).text(mean(cell.values(run, metric)))} %"


def _points(value: float) -> str:
    return f"{find_metric('difference').text(value)} points"


def _signed(value: float) -> str:
    return find_metric("difference").text(value, sign=True)


def _p(value: float) -> str:
    return f"p < {LEAST_P}" if value < LEAST_P else f"p = {value:.3f}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]

"""Every run of a cell against Retrain: means, deviations, what is best, what chance explains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from collateral.findings.catalogue import METRICS
from collateral.findings.gap.numbers import student_95
from collateral.results.table import MOST_NAMED, REFERENCE, Cell, mean, std

Protocol = Literal["matched", "shared"]

FLOOR = "retrain_other_seeds"

SPREAD = "Mean ± sample standard deviation (ddof=1) over n = {n} seeds, in %."
ONE_SEED = "One seed, in %: no spread and no noise floor can be given."
PROTOCOLS = {
    "matched": "Each seed has its own base model and its own Retrain (matched).",
    "shared": "All seeds share one base model, and each has its own Retrain (shared).",
    None: "",
}
RANKING = (
    "Bold: the {ranked} nearest to Retrain; controls, and runs that diverged or collapsed, "
    "are not ranked."
)
CHANCE = (
    "“Retrain, other seeds” is the noise floor: the absolute deviation to expect between two "
    "groups of n retrained models. †: within what 95 % of such deviations stay below (Student t, "
    "as the floor is known from n seeds alone); not a finding."
)
DIVERGED = "A diverged seed gives no number: its row shows the mean of the other seeds."


@dataclass(frozen=True)
class Part:
    """Columns that fit the width of a page: metrics, their gap, and what else there is."""

    metrics: tuple[str, ...]
    gap: str
    others: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns from left to right."""
        return (*self.metrics, self.gap, *self.others)


@dataclass(frozen=True)
class Layout:
    """What a table shows: a row for each run, in one part or in several below each other."""

    name: str
    subject: str
    parts: tuple[Part, ...]
    corner: str = "Method"  # heading of the first column
    ranked: str = "method"  # what its rows are

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all parts."""
        return tuple(column for part in self.parts for column in part.columns)

    @property
    def gaps(self) -> tuple[str, ...]:
        """The gaps of all parts."""
        return tuple(part.gap for part in self.parts)

    @property
    def compared(self) -> tuple[str, ...]:
        """The columns that are held against Retrain."""
        return tuple(c for c in self.columns if c not in GAPS and METRICS[c].ideal == "retrain")

    @property
    def described(self) -> tuple[str, ...]:
        """The columns whose meaning the caption tells."""
        return tuple(name for part in self.parts for name in (part.gap, *part.others))


MAIN = Part(("ua", "ra", "ta", "mia"), "avg_gap", ("rte",))
AFFECTED = Part(("ra_affected", "ua_affected", "ta_affected"), "avg_gap_affected")
LAYOUTS = (
    Layout("main", "All examples", (MAIN,)),
    Layout("affected", "Examples of the affected {classes}", (AFFECTED,)),
)
GAPS = {MAIN.gap, AFFECTED.gap}
# What a number of a method's own is held against, where Retrain has none of that name.
COUNTERPARTS = {"teacher_ua": "ua", "target_ua": "ua"}


@dataclass(frozen=True)
class Entry:
    """One number of a table, as a rate or in seconds; NaN where there is none."""

    mean: float = math.nan
    std: float = math.nan
    deviation: float = math.nan  # from Retrain
    n: int = 0
    best: bool = False
    chance: bool = False  # the deviation lies within the 95 % range of Retrain against Retrain


@dataclass(frozen=True)
class Row:
    """One run of a table."""

    run: str
    label: str
    kind: str  # reference, method, control or floor
    status: str  # empty where every seed ended well
    entries: dict[str, Entry]


@dataclass(frozen=True)
class Table:
    """A table as data; `display`, `markdown` and `latex` make it readable."""

    cell: str
    layout: Layout
    subject: str
    rows: tuple[Row, ...]
    caption: str  # what this table shows
    conventions: str  # what holds for every table of its kind

    def rows_of(self, *kinds: str) -> list[Row]:
        """Return the rows of some kinds, in order."""
        return [row for row in self.rows if row.kind in kinds]


def tables(cell: Cell, protocol: Protocol | None = None) -> list[Table]:
    """Return the main and the affected-class table of a cell."""
    return [table(cell, layout, protocol) for layout in LAYOUTS]


def table(cell: Cell, layout: Layout, protocol: Protocol | None = None) -> Table:
    """Return a table of all runs of a cell."""
    return Table(
        cell.name,
        layout,
        subject_of(layout, cell),
        _rows(cell, layout),
        _caption(cell, layout, protocol),
        _conventions(cell, layout),
    )


def _rows(cell: Cell, layout: Layout) -> tuple[Row, ...]:
    methods = [_row(cell, run, layout) for run in cell.runs("method")]
    others = [_row(cell, run, layout) for run in cell.runs("control")]
    return (
        _row(cell, REFERENCE, layout),
        *_mark_best(methods, (*layout.compared, *layout.gaps)),
        *others,
        *_floor(cell, layout),
    )


def _row(cell: Cell, run: str, layout: Layout) -> Row:
    entries = {metric: _entry(cell, run, metric) for metric in layout.columns}
    for gap in layout.gaps:
        # Retrain's number of this name in metrics.csv is the noise floor.
        entries[gap] = Entry(mean=0.0 if run == REFERENCE else cell.number(run, gap))
    return Row(run, cell.labels[run], cell.kinds[run], cell.trouble(run), entries)


def _entry(cell: Cell, run: str, metric: str) -> Entry:
    counterpart = COUNTERPARTS.get(metric, metric)
    values = cell.values(run, counterpart if run == REFERENCE else metric)
    entry = Entry(mean(values), std(values), n=int(np.count_nonzero(~np.isnan(values))))
    if run == REFERENCE or METRICS[metric].ideal != "retrain":
        return entry
    deviation = entry.mean - mean(cell.values(REFERENCE, counterpart))
    return replace(entry, deviation=deviation, chance=abs(deviation) <= chance(cell, counterpart))


def chance(cell: Cell, metric: str) -> float:
    """Return the bound within which 95 % of the deviations between retrainings lie."""
    # The floor is a mean absolute deviation; a normal law's standard one is larger by this.
    standard = math.sqrt(math.pi / 2) * cell.number(REFERENCE, f"floor:{metric}")
    return student_95(len(cell.seeds)) * standard


def _mark_best(rows: list[Row], metrics: tuple[str, ...]) -> Iterator[Row]:
    """Mark the methods nearest to Retrain, ties all; none that diverged or collapsed."""
    ranked = [row for row in rows if not row.status]
    nearest = {
        metric: min((d for row in ranked if not math.isnan(d := _distance(row, metric))), default=0)
        for metric in metrics
    }
    for row in rows:
        entries = dict(row.entries)
        for metric in metrics if not row.status else ():
            # Equal but for the last bits of the subtraction.
            tied = math.isclose(_distance(row, metric), nearest[metric], abs_tol=1e-12)
            entries[metric] = replace(entries[metric], best=tied)
        yield replace(row, entries=entries)


def _distance(row: Row, metric: str) -> float:
    entry = row.entries[metric]
    return entry.mean if metric in GAPS else abs(entry.deviation)


def _floor(cell: Cell, layout: Layout) -> list[Row]:
    if len(cell.seeds) < 2:
        return []
    entries = dict.fromkeys(layout.columns, Entry())
    for metric in layout.compared:
        floor = cell.number(REFERENCE, f"floor:{COUNTERPARTS.get(metric, metric)}")
        entries[metric] = Entry(deviation=floor)
    for gap in layout.gaps:
        entries[gap] = Entry(mean=cell.number(REFERENCE, gap))
    return [Row(FLOOR, "Retrain, other seeds", "floor", "", entries)]


def subject_of(layout: Layout, *cells: Cell) -> str:
    """Return what a table of these cells is about."""
    several = any(len(cell.forgotten) > 1 for cell in cells)
    return layout.subject.format(classes="classes" if several else "class")


def _affected(cell: Cell) -> str:
    """Say which classes are affected, where the title does not."""
    if len(cell.forgotten) < 2:
        return ""
    named = f" ({', '.join(cell.forgotten)})" if len(cell.forgotten) <= MOST_NAMED else ""
    return f"Affected are the {len(cell.forgotten)} classes that have a forgotten example{named}."


def _caption(cell: Cell, layout: Layout, protocol: Protocol | None) -> str:
    sentences = [
        f"{subject_of(layout, cell)}: {cell.title}.",
        _affected(cell) if AFFECTED.gap in layout.gaps else "",
        SPREAD.format(n=len(cell.seeds)) if len(cell.seeds) > 1 else ONE_SEED,
        "The deviation from Retrain, in points, is in parentheses.",
        PROTOCOLS[protocol],
        DIVERGED if any("diverged" in statuses for statuses in cell.troubles.values()) else "",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _conventions(cell: Cell, layout: Layout) -> str:
    described = [METRICS[metric] for metric in layout.described]
    sentences = [
        "UA is accuracy on the forget set (some literature prints 100 − UA).",
        *(f"{metric.label}: {metric.description}." for metric in described),
        RANKING.format(ranked=layout.ranked),
        CHANCE if len(cell.seeds) > 1 else "",
        "–: undefined, or no seed gave a number; it is left out of the gap.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)

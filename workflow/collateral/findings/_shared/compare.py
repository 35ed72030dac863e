"""Every run of a cell against Retrain: means, deviations, what is best, what chance explains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from collateral.contract.rows import At
from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.findings._shared.captions import joined
from collateral.findings._shared.devices import different_devices
from collateral.findings._shared.layouts import Layout, Part
from collateral.findings._shared.statistics import student_95
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.results.table import REFERENCE, CellTable, mean, std

FLOOR_RUN = "retrain_other_seeds"
GROUPS = (("reference",), ("method",), ("control", "floor"))
# What a number of a method's own is held against, where Retrain has none of that name.
COUNTERPARTS = {"teacher_ua": "ua", "target_ua": "ua"}


@dataclass(frozen=True)
class Entry:
    """One number of a table, as it is stored; NaN where there is none."""

    mean: float = math.nan
    std: float = math.nan
    deviation: float = math.nan  # from Retrain
    n: int = 0
    best: bool = False
    chance: bool = False  # the deviation lies within the 95 % range of Retrain against Retrain


@dataclass(frozen=True)
class Compared:
    """One run of a table."""

    run: str
    label: str
    kind: str  # reference, method, control or floor
    status: str  # empty where every seed ended well
    entries: dict[str, Entry]


def compare(cell: CellTable, layout: Layout) -> Table:
    """Return a table of all runs of a cell."""
    rows = _rows(cell, layout)
    return Table(
        layout.name,
        layout.subject,
        [_grid(layout.corner, part, rows) for part in layout.parts],
        joined(layout.caption(cell), different_devices(cell) if _has_seconds(layout) else ""),
        layout.conventions(len(cell.seeds)),
        list(_records(rows)),
    )


def chance(cell: CellTable, metric: str) -> float:
    """Return the bound within which 95 % of the deviations between retrainings lie."""
    # The floor is a mean absolute deviation; a normal law's standard one is larger by this.
    standard = math.sqrt(math.pi / 2) * cell.number(cell.reference, "floor", at=metric)
    return student_95(len(cell.seeds)) * standard


def chance_by_sd(cell: CellTable, metric: str, set: str = "", at: At = None) -> float:
    """Return the same bound of a number whose standard deviation is known."""
    return student_95(len(cell.seeds)) * cell.number(cell.reference, f"{metric}_sd", set, at)


def _has_seconds(layout: Layout) -> bool:
    return any(metric_of(name).unit == "s" for name in layout.columns)


def _rows(cell: CellTable, layout: Layout) -> list[Compared]:
    methods = [_row(cell, run, layout) for run in cell.runs("method")]
    return [
        _row(cell, REFERENCE, layout),
        *_mark_best(methods, (*layout.compared, *layout.gaps)),
        *(_row(cell, run, layout) for run in cell.runs("control")),
        *_floor(cell, layout),
    ]


def _row(cell: CellTable, run: str, layout: Layout) -> Compared:
    entries = {metric: _entry(cell, run, metric) for metric in layout.columns}
    for gap in layout.gaps:
        entries[gap] = Entry(mean=0.0 if run == REFERENCE else cell.number(run, gap))
    return Compared(run, cell.labels[run], cell.kinds[run], cell.trouble(run), entries)


def _entry(cell: CellTable, run: str, metric: str) -> Entry:
    counterpart = COUNTERPARTS.get(metric, metric)
    values = cell.values(run, counterpart if run == REFERENCE else metric)
    entry = Entry(mean(values), std(values), n=int(np.count_nonzero(~np.isnan(values))))
    if run == REFERENCE or metric_of(metric).ideal != "retrain":
        return entry
    deviation = entry.mean - mean(cell.values(REFERENCE, counterpart))
    return replace(entry, deviation=deviation, chance=abs(deviation) <= chance(cell, counterpart))


def _mark_best(rows: Sequence[Compared], metrics: Sequence[str]) -> Iterator[Compared]:
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


def _distance(row: Compared, metric: str) -> float:
    entry = row.entries[metric]
    return entry.mean if metric in TERMS else abs(entry.deviation)


def _floor(cell: CellTable, layout: Layout) -> list[Compared]:
    if len(cell.seeds) < 2:
        return []
    entries = dict.fromkeys(layout.columns, Entry())
    for metric in layout.compared:
        floor = cell.number(REFERENCE, "floor", at=COUNTERPARTS.get(metric, metric))
        entries[metric] = Entry(deviation=floor)
    for gap in layout.gaps:
        entries[gap] = Entry(mean=cell.number(REFERENCE, "floor", at=gap))
    return [Compared(FLOOR_RUN, "Retrain, other seeds", "floor", "", entries)]


def _grid(corner: str, part: Part, rows: Sequence[Compared]) -> Grid:
    groups = [[_line(row, part) for row in rows if row.kind in kinds] for kinds in GROUPS]
    headings = [metric_of(metric).heading for metric in part.columns]
    return Grid(corner, headings, [group for group in groups if group])


def _line(row: Compared, part: Part) -> Line:
    if row.kind == "floor":
        fields = [_floor_field(row.entries[metric], metric) for metric in part.columns]
    else:
        fields = [_field(row.entries[metric], metric, row.run) for metric in part.columns]
    return Line(row.label, fields, row.status, row.kind in GROUPS[-1])


def _field(entry: Entry, metric: str, run: str) -> Field:
    shown = metric_of(metric)
    source = Source(run, COUNTERPARTS.get(metric, metric) if run == REFERENCE else metric)
    value = shown.text(entry.mean, entry.std)
    if math.isnan(entry.deviation):
        return Field(value, entry.mean, is_best=entry.best, source=source)
    deviation = f"({shown.text(entry.deviation, sign=True)})"
    return Field(value, abs(entry.deviation), deviation, entry.best, entry.chance, source)


def _floor_field(entry: Entry, metric: str) -> Field:
    """Show what there is: a deviation or a gap; they are no numbers of a run, and not sorted."""
    shown = metric_of(metric)
    value = "" if math.isnan(entry.mean) else shown.text(entry.mean)
    has_deviation = not math.isnan(entry.deviation)
    return Field(value, deviation=f"({shown.text(entry.deviation)})" if has_deviation else "")


def _records(rows: Sequence[Compared]) -> Iterator[dict[str, Any]]:
    for row in rows:
        for metric, entry in row.entries.items():
            yield {
                "run": row.run,
                "label": row.label,
                "kind": row.kind,
                "metric": metric,
                "mean": entry.mean,
                "std": entry.std,
                "deviation": entry.deviation,
                "n": entry.n or "",
                "status": row.status or "ok",
                "best": entry.best,
                "chance": entry.chance,
            }

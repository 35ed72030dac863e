"""Build tables from columns: each column is a metric and how it is shown.

Findings of plug-ins may import this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import EMPTY
from collateral.contract.rows import At
from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.findings._shared.captions import describe_metrics, describe_spread, join_sentences
from collateral.findings.metric_index import find_metric
from collateral.results.table import CellTable, mean, std

KINDS = ("reference", "method", "control")
NEXT_SEED = "Retrain, next seed"  # the row of Retrain compared with Retrain of the next seed
NEXT_SEED_NOTE = f"“{NEXT_SEED}” is what retraining again gives."

Statistic = Callable[[NDArray[np.float64]], float]  # of the values of all seeds
Bound = Callable[[CellTable, str, str, At], float]  # of a metric, set and index


@dataclass(frozen=True)
class TableRow:
    """A row of a table: the run whose numbers it shows, and its label."""

    cell: CellTable
    run: str
    label: str
    at: At = None  # the index of its numbers, in tables whose rows are indices
    note: str = ""  # how the run ended, if it did not end well
    is_aside: bool = False  # a control or a noise floor, which is not ranked


@dataclass(frozen=True)
class Column:
    """A column of a table: a metric, and how its numbers are shown.

    A field shows the mean over seeds and their spread, or the number over all seeds; with `ends`,
    it shows the interval `<metric>_<ends>low` to `<metric>_<ends>high` in place of the spread.
    """

    metric: str = ""
    set: str = ""
    at: At = None  # None: the index of the row
    heading: str = ""  # empty: the heading of the metric
    run: str = ""  # empty: the run of the row
    reference_metric: str | None = None  # shown in the row of the reference; "": a dash
    ends: str | None = None
    sign: bool = False  # write a plus before positive numbers
    chance: Bound | None = None  # means within this bound are marked with †
    mean: Statistic = mean
    spread: Statistic = std
    show: Callable[[TableRow], Field] | None = None  # makes the field in place of all of the above

    def values(self, row: TableRow) -> NDArray[np.float64]:
        """Return the values of all seeds."""
        return row.cell.values(*self._key(row))

    def value(self, row: TableRow) -> float:
        """Return the mean over seeds; where no seed has a value, the number over all seeds."""
        average = self.mean(self.values(row))
        return row.cell.number(*self._key(row)) if math.isnan(average) else average

    def source(self, row: TableRow, ending: str = "") -> Source:
        """Return where the long table has the number, or an end of its interval."""
        run, metric, name, at = self._key(row)
        return number_source(run, metric + ending, name, at)

    def field(self, row: TableRow) -> Field:
        """Return the field of a row."""
        if self.show:
            return self.show(row)
        if self.reference_metric == "" and row.run == row.cell.reference:
            return Field(EMPTY)
        value = self.value(row)
        return Field(
            self._text(row, value),
            value,
            is_chance=self._is_chance(row, value),
            source=self.source(row),
            also=tuple(self.source(row, end) for end in self._endings(row)),
        )

    def record(self, row: TableRow) -> dict[str, Any]:
        """Return the number unrounded, for the CSV file."""
        run, metric, name, at = self._key(row)
        values = self.values(row)
        return {
            "run": run,
            "label": row.cell.labels[run],
            "kind": row.cell.kinds[run],
            "metric": metric,
            "set": name,
            "at": "" if at is None else at,
            "mean": self.value(row),
            "std": std(values),
            "n": int(np.count_nonzero(~np.isnan(values))),
        }

    def _key(self, row: TableRow) -> tuple[str, str, str, At]:
        """Return run, metric, set and index of the number."""
        run = self.run or row.run
        metric = (run == row.cell.reference and self.reference_metric) or self.metric
        return run, metric, self.set, row.at if self.at is None else self.at

    def _text(self, row: TableRow, value: float) -> str:
        metric = find_metric(self._key(row)[1])
        if self.ends is None:
            return metric.text(value, self.spread(self.values(row)), sign=self.sign)
        text = metric.text(value, sign=self.sign)
        limits = [metric.text(end, sign=self.sign) for end in self.interval(row)]
        return text if EMPTY in limits else f"{text} [{', '.join(limits)}]"

    def interval(self, row: TableRow) -> tuple[float, float]:
        """Return the ends of the interval; NaN where they are undefined."""
        run, metric, name, at = self._key(row)
        low, high = (
            row.cell.number(run, f"{metric}_{self.ends}{end}", name, at) for end in ("low", "high")
        )
        return low, high

    def _endings(self, row: TableRow) -> list[str]:
        """Return what the names of the shown ends of the interval have after the metric's."""
        if self.ends is None or any(map(math.isnan, self.interval(row))):
            return []
        return [f"_{self.ends}{end}" for end in ("low", "high")]

    def _is_chance(self, row: TableRow, value: float) -> bool:
        run, metric, name, at = self._key(row)
        if self.chance is None or run == row.cell.reference:
            return False
        return abs(value) <= self.chance(row.cell, metric, name, at)


def number_source(run: str, metric: str, set: str = "", at: At = None) -> Source:
    """Return where the long table has a number; `at` is written as text there."""
    return Source(run, metric, set, "" if at is None else str(at))


def run_row(cell: CellTable, run: str) -> TableRow:
    """Return the row of a run, with the note on how it ended."""
    is_aside = cell.kinds[run] == "control"
    return TableRow(cell, run, cell.labels[run], note=cell.failure_summary(run), is_aside=is_aside)


def rows_by_kind(cell: CellTable, kinds: Sequence[str] = KINDS) -> list[list[TableRow]]:
    """Return the rows of all runs in one group per kind; a group may be empty."""
    return [[run_row(cell, run) for run in cell.runs(kind)] for kind in kinds]


def rows_with_next_seed(cell: CellTable, label: str = NEXT_SEED) -> list[list[TableRow]]:
    """Return rows of methods, and of controls with the reference compared with its next seed."""
    methods, asides = rows_by_kind(cell, ("method", "control"))
    if len(cell.seeds) > 1:
        asides.append(TableRow(cell, cell.reference, label, is_aside=True))
    return [methods, asides]


def all_rows(cell: CellTable) -> list[TableRow]:
    """Return the rows of all runs in the order of the config, the reference first."""
    return [run_row(cell, run) for run in cell.labels]


def build_grid(
    corner: str, columns: Sequence[Column], groups: Iterable[Sequence[TableRow | Line]]
) -> Grid:
    """Return the grid of these rows; lines that are complete stay as they are."""
    headings = [column.heading or find_metric(column.metric).heading for column in columns]
    lines = [[_build_line(row, columns) for row in group] for group in groups if group]
    return Grid(corner, headings, lines)


def _build_line(row: TableRow | Line, columns: Sequence[Column]) -> Line:
    if isinstance(row, Line):
        return row
    return Line(row.label, [column.field(row) for column in columns], row.note, row.is_aside)


def build_records(rows: Iterable[TableRow], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return one record per row and column, unrounded."""
    return [column.record(row) for row in rows for column in columns]


def build_table(
    name: str,
    title: str,
    columns: Sequence[Column],
    groups: Sequence[Sequence[TableRow | Line]],
    caption: str,
    conventions: str = "",
) -> Table:
    """Return a table with one grid of methods; its records are those of the same rows."""
    rows = [row for group in groups for row in group if isinstance(row, TableRow)]
    grid = build_grid("Method", columns, groups)
    return Table(name, title, [grid], caption, conventions, build_records(rows, columns))


def plain_table(cell: CellTable, name: str, title: str, metrics: Sequence[str]) -> Table:
    """Return a table with one row per run and one column per metric that runs have by seed."""
    columns = [Column(metric) for metric in metrics]
    caption = join_sentences(
        f"{title}: {cell.title}.", describe_spread(cell), describe_metrics(metrics)
    )
    table = build_table(name, title, columns, rows_by_kind(cell), caption)
    return replace(table, records=build_records(all_rows(cell), columns))

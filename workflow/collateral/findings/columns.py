"""Build tables from columns; a column is a metric and the format of its numbers.

Findings of plug-ins may import this module.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import EMPTY
from collateral.contract.rows import At
from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.findings._shared.captions import describe_metrics, describe_spread, join_sentences
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean, std
from collateral.results.table import CellTable

KINDS = ("reference", "method", "control")
# Label of the row that compares Retrain with Retrain of the next seed.
NEXT_SEED = "Retrain, next seed"
NEXT_SEED_NOTE = f"“{NEXT_SEED}” is what retraining again gives."

# Function from the values of all seeds to one number, such as the mean.
Statistic = Callable[[NDArray[np.float64]], float]
# Function that returns the noise floor of a number, given the number's cell, metric, subset, `at`.
Bound = Callable[[CellTable, str, str, At], float]


@dataclass(frozen=True)
class TableRow:
    """A row of a table: the run whose numbers the row shows, and the label of the row."""

    cell: CellTable
    run: str
    label: str
    at: At = None  # value of the column `at` in the long table, such as a class name
    note: str = ""  # note on failed seeds, such as "diverged (1 of 3 seeds)"
    is_aside: bool = False  # whether the row is not ranked: a control or a noise floor


# Groups of table rows; the web page sorts each group separately. A `Line` is already formatted.
Groups = Sequence[Sequence[TableRow | Line]]


@dataclass(frozen=True)
class Column:
    """A column of a table: a metric, and the format of its numbers.

    A table entry shows the mean and the standard deviation over seeds, or a number over all seeds.
    With `ends`, the entry shows the interval `<metric>_<ends>low` to `<metric>_<ends>high` instead
    of the standard deviation.
    """

    metric: str = ""
    set: str = ""
    at: At = None  # value of the column `at` in the long table; if None, `at` of the row
    heading: str = ""  # heading of the column; if empty, the heading of the metric
    run: str = ""  # run that all rows show; if empty, each row shows its own run
    # Metric that the row of the reference shows: None for the same metric, empty for only a dash.
    reference_metric: str | None = None
    # Text before `low` and `high` in the names of the interval's metrics; None for no interval.
    ends: str | None = None
    sign: bool = False  # whether positive numbers have a plus sign
    chance: Bound | None = None  # function for the noise floor; smaller entries get a †
    mean: Statistic = mean
    spread: Statistic = std
    # Function that returns the whole table entry of a row; it replaces the default format.
    show: Callable[[TableRow], Field] | None = None

    def values(self, row: TableRow) -> NDArray[np.float64]:
        """Return the values of the metric in a row, one per seed."""
        return row.cell.values(*self._key(row))

    def value(self, row: TableRow) -> float:
        """Return the mean over seeds, or the single number of a metric without values by seed."""
        average = self.mean(self.values(row))
        return row.cell.number(*self._key(row)) if math.isnan(average) else average

    def source(self, row: TableRow, ending: str = "") -> Source:
        """Return the source link of a row's number; with `ending`, of an end of the interval."""
        run, metric, name, at = self._key(row)
        return number_source(run, metric + ending, name, at)

    def field(self, row: TableRow) -> Field:
        """Return the table entry of this column in a row."""
        if self.show:
            return self.show(row)
        if self.reference_metric == "" and row.run == row.cell.reference:
            return Field(EMPTY)
        value = self.value(row)
        also: tuple[Source, ...] = ()
        if self.ends is not None and not any(map(math.isnan, self.interval(row))):
            also = tuple(self.source(row, f"_{self.ends}{end}") for end in ("low", "high"))
        text, is_chance = self._text(row, value), self._is_chance(row, value)
        return Field(text, value, is_chance=is_chance, source=self.source(row), also=also)

    def _text(self, row: TableRow, value: float) -> str:
        metric = find_metric(self._key(row)[1])
        if self.ends is None:
            return metric.text(value, self.spread(self.values(row)), sign=self.sign)
        text = metric.text(value, sign=self.sign)
        limits = [metric.text(end, sign=self.sign) for end in self.interval(row)]
        return text if EMPTY in limits else f"{text} [{', '.join(limits)}]"

    def _is_chance(self, row: TableRow, value: float) -> bool:
        run, metric, name, at = self._key(row)
        if self.chance is None or run == row.cell.reference:
            return False
        return abs(value) <= self.chance(row.cell, metric, name, at)

    def record(self, row: TableRow) -> dict[str, Any]:
        """Return the unrounded number of a row, with its key, as a record for the CSV file."""
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
        """Return the key of a row's number in the long table: run, metric, subset and `at`."""
        run = self.run or row.run
        metric = (run == row.cell.reference and self.reference_metric) or self.metric
        return run, metric, self.set, row.at if self.at is None else self.at

    def interval(self, row: TableRow) -> tuple[float, float]:
        """Return the lower and upper end of a row's interval; an undefined end is NaN."""
        run, metric, name, at = self._key(row)
        low, high = (
            row.cell.number(run, f"{metric}_{self.ends}{end}", name, at) for end in ("low", "high")
        )
        return low, high


class TestedColumn(Column):
    """A column of differences. An entry gets a † if its interval includes zero or is undefined."""

    def _is_chance(self, row: TableRow, value: float) -> bool:
        low, high = self.interval(row)
        return not (low > 0 or high < 0)


def number_source(run: str, metric: str, subset: str = "", at: At = None) -> Source:
    """Return the source link of a number, which is its key in the long table."""
    return Source(run, metric, subset, "" if at is None else str(at))


def number_field(run: str, metric: str, value: float, subset: str = "", at: At = None) -> Field:
    """Return the table entry of a number: its text, its sort key and its source link."""
    source = number_source(run, metric, subset, at)
    return Field(find_metric(metric).text(value), value, source=source)


def run_row(cell: CellTable, run: str) -> TableRow:
    """Return the row of a run, with a note if some of its seeds failed."""
    is_aside = cell.kinds[run] == "control"
    return TableRow(cell, run, cell.labels[run], note=cell.failure_summary(run), is_aside=is_aside)


def rows_by_kind(cell: CellTable, kinds: Sequence[str] = KINDS) -> list[list[TableRow]]:
    """Return the table rows of all runs, with one group per kind of run; a group may be empty."""
    return [[run_row(cell, run) for run in cell.runs(kind)] for kind in kinds]


def rows_with_next_seed(cell: CellTable, label: str = NEXT_SEED) -> list[list[TableRow]]:
    """Return two groups of rows: first the methods, then the controls.

    With several seeds, the second group ends with Retrain compared with Retrain of the next seed.
    """
    methods, asides = rows_by_kind(cell, ("method", "control"))
    if len(cell.seeds) > 1:
        asides.append(TableRow(cell, cell.reference, label, is_aside=True))
    return [methods, asides]


def all_rows(cell: CellTable) -> list[TableRow]:
    """Return the rows of all runs in the order of the config, with the reference first."""
    return [run_row(cell, run) for run in cell.labels]


def build_grid(
    corner: str, columns: Sequence[Column], groups: Iterable[Sequence[TableRow | Line]]
) -> Grid:
    """Return a grid from columns and groups of rows; a row that is a `Line` is used unchanged."""
    headings = [column.heading or find_metric(column.metric).heading for column in columns]
    lines = [[_build_line(row, columns) for row in group] for group in groups if group]
    return Grid(corner, headings, lines)


def _build_line(row: TableRow | Line, columns: Sequence[Column]) -> Line:
    if isinstance(row, Line):
        return row
    return Line(row.label, [column.field(row) for column in columns], row.note, row.is_aside)


def build_records(rows: Iterable[TableRow], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return the records of the CSV file: one unrounded number per row and column."""
    return [column.record(row) for row in rows for column in columns]


def build_table(
    name: str,
    title: str,
    columns: Sequence[Column] | Mapping[str, Sequence[Column]],
    groups: Groups,
    caption: str,
    conventions: str = "",
) -> Table:
    """Return a table whose grids all have the same rows; its CSV records have unrounded numbers.

    `columns` are the columns of one grid, or a dict from the first heading of a grid to columns.
    """
    by_corner = columns if isinstance(columns, Mapping) else {"Method": columns}
    rows = [row for group in groups for row in group if isinstance(row, TableRow)]
    grids = [build_grid(corner, of_grid, groups) for corner, of_grid in by_corner.items()]
    shown = [[column for column in of_grid if column.metric] for of_grid in by_corner.values()]
    records = [record for of_grid in shown for record in build_records(rows, of_grid)]
    return Table(name, title, grids, caption, conventions, records)


def plain_table(cell: CellTable, name: str, title: str, metrics: Sequence[str]) -> Table:
    """Return a table of means over seeds, with one row per run and one column per metric."""
    columns = [Column(metric) for metric in metrics]
    caption = join_sentences(
        f"{title}: {cell.title}.", describe_spread(cell), describe_metrics(cell, metrics)
    )
    table = build_table(name, title, columns, rows_by_kind(cell), caption)
    return replace(table, records=build_records(all_rows(cell), columns))

"""Build tables from columns: each column is a metric and its format.

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
NEXT_SEED = "Retrain, next seed"  # row label: Retrain compared with Retrain of the next seed
NEXT_SEED_NOTE = f"“{NEXT_SEED}” is what retraining again gives."

# Function from the values of all seeds to one number, such as the mean.
Statistic = Callable[[NDArray[np.float64]], float]
# Function that returns a number's noise floor, given its cell, metric, subset and `at`.
Bound = Callable[[CellTable, str, str, At], float]


@dataclass(frozen=True)
class TableRow:
    """A row of a table: the run whose numbers it shows, and its label."""

    cell: CellTable
    run: str
    label: str
    at: At = None  # column `at` of the row's numbers, such as the name of a class
    note: str = ""  # note on failed seeds, such as "diverged (1 of 3 seeds)"
    is_aside: bool = False  # whether the row is not ranked: a control or a noise floor


# Groups of table rows; the web page sorts each group separately. A `Line` is a formatted row.
Groups = Sequence[Sequence[TableRow | Line]]


@dataclass(frozen=True)
class Column:
    """A column of a table: a metric, and the format of its numbers.

    A table entry shows the mean and the standard deviation over seeds, or a number over all seeds.
    With `ends`, it shows the interval `<metric>_<ends>low` to `<metric>_<ends>high` instead of the
    standard deviation.
    """

    metric: str = ""
    set: str = ""
    at: At = None  # column `at` of the numbers; if None, `at` of the row
    heading: str = ""  # heading of the column; if empty, the heading of the metric
    run: str = ""  # name of the run of all numbers; if empty, the run of the row
    # Name of the metric in the row of the reference: None for the same metric, empty for a dash.
    reference_metric: str | None = None
    # Text before `low` and `high` in names of the interval's metrics; None if there is no interval.
    ends: str | None = None
    sign: bool = False  # whether positive numbers have a plus sign
    chance: Bound | None = None  # function that returns the noise floor; smaller values get a †
    mean: Statistic = mean
    spread: Statistic = std
    # Function that returns the whole table entry of a row; it replaces the default format.
    show: Callable[[TableRow], Field] | None = None

    def values(self, row: TableRow) -> NDArray[np.float64]:
        """Return the values of the metric in a row, one per seed."""
        return row.cell.values(*self._key(row))

    def value(self, row: TableRow) -> float:
        """Return the mean over seeds; for a metric without values by seed, its single number."""
        average = self.mean(self.values(row))
        return row.cell.number(*self._key(row)) if math.isnan(average) else average

    def source(self, row: TableRow, ending: str = "") -> Source:
        """Return the source link of the number, or of an end of its interval."""
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
        """Return the unrounded number for the CSV file."""
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
        """Return run, metric, subset and `at`: the key of a row's number in the long table."""
        run = self.run or row.run
        metric = (run == row.cell.reference and self.reference_metric) or self.metric
        return run, metric, self.set, row.at if self.at is None else self.at

    def interval(self, row: TableRow) -> tuple[float, float]:
        """Return both ends of the interval of a row; NaN if they are undefined."""
        run, metric, name, at = self._key(row)
        low, high = (
            row.cell.number(run, f"{metric}_{self.ends}{end}", name, at) for end in ("low", "high")
        )
        return low, high


class TestedColumn(Column):
    """A column of differences; entries whose interval includes zero or is undefined get a †."""

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
    """Return the rows of all runs in one group per kind of run; a group may be empty."""
    return [[run_row(cell, run) for run in cell.runs(kind)] for kind in kinds]


def rows_with_next_seed(cell: CellTable, label: str = NEXT_SEED) -> list[list[TableRow]]:
    """Return two groups of rows: methods; and controls with Retrain against its next seed."""
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
    """Return a grid with these columns and groups of rows; a `Line` is used unchanged."""
    headings = [column.heading or find_metric(column.metric).heading for column in columns]
    lines = [[_build_line(row, columns) for row in group] for group in groups if group]
    return Grid(corner, headings, lines)


def _build_line(row: TableRow | Line, columns: Sequence[Column]) -> Line:
    if isinstance(row, Line):
        return row
    return Line(row.label, [column.field(row) for column in columns], row.note, row.is_aside)


def build_records(rows: Iterable[TableRow], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return one unrounded record per row and column, for the CSV file."""
    return [column.record(row) for row in rows for column in columns]


def build_table(
    name: str,
    title: str,
    columns: Sequence[Column] | Mapping[str, Sequence[Column]],
    groups: Groups,
    caption: str,
    conventions: str = "",
) -> Table:
    """Return a table with the same rows in each grid, and the unrounded records of all metrics.

    `columns` are those of one grid of methods, or of several grids by their first heading.
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
        f"{title}: {cell.title}.", describe_spread(cell), describe_metrics(metrics)
    )
    table = build_table(name, title, columns, rows_by_kind(cell), caption)
    return replace(table, records=build_records(all_rows(cell), columns))

"""Tables that compare every run with Retrain: deviations, nearest methods, noise floors."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from collateral.contract.rows import At
from collateral.contract.tables import Field, Line, Table
from collateral.findings._shared.captions import (
    CHANCE,
    describe_metrics,
    describe_spread,
    different_devices,
    join_sentences,
)
from collateral.findings.columns import Column, TableRow, build_grid, rows_by_kind
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean, t_quantile
from collateral.results.table import MOST_NAMED, CellTable

# Metrics that Retrain does not have, each with the metric of Retrain that is used instead.
COUNTERPARTS = {"teacher_ua": "ua", "target_ua": "ua"}
MAIN = (*TERMS["avg_gap"], "avg_gap", "rte")
# No column "UA affected": all forgotten examples are in affected classes, so it would equal UA.
AFFECTED = ("ra_affected", "ta_affected", "avg_gap_affected")
FLOOR = {"run": "retrain_other_seeds", "label": "Retrain, other seeds", "kind": "floor"}
DEVIATION = "Deviations from Retrain (in parentheses) and gaps are in points."
PROTOCOLS = {
    "matched": "Each seed has its own base model and its own Retrain (matched).",
    "shared": "All seeds share one base model, and each has its own Retrain (shared).",
    None: "",
}
DIVERGED = "A diverged seed gives no number: its row shows the mean of the other seeds."
UA = "UA is accuracy on the forget set (some literature prints 100 − UA)."
RANKING = (
    "Bold: the {ranked} nearest to Retrain; controls, and runs that diverged or collapsed, "
    "are not ranked."
)
FLOOR_NOTE = (
    "“Retrain, other seeds” is the noise floor: the absolute deviation to expect between two "
    f"groups of n retrained models. {CHANCE}"
)
UNDEFINED = "–: undefined, or no seed gave a number; it is left out of the gap."


def noise_floor(cell: CellTable, metric: str) -> float:
    """Return a metric's noise floor: 95 % of differences between retrained models are smaller."""
    # sqrt(pi / 2) is the standard deviation of a normal variable over its mean absolute deviation.
    standard = math.sqrt(math.pi / 2) * cell.number(cell.reference, "floor", at=metric)
    return t_quantile(len(cell.seeds)) * standard


def noise_floor_by_sd(cell: CellTable, metric: str, subset: str = "", at: At = None) -> float:
    """Return a metric's noise floor from its stored standard deviation between retrainings."""
    return t_quantile(len(cell.seeds)) * cell.number(cell.reference, f"{metric}_sd", subset, at)


@dataclass(frozen=True)
class Comparison:
    """Description of a table with one row per run; its columns may be split into several grids."""

    name: str  # name of the table's files
    subject: str  # title of the table
    parts: tuple[tuple[str, ...], ...]  # metric names of each block of columns
    corner: str = "Method"  # heading of the first column
    ranked: str = "method"  # word for a ranked row in the caption
    note: str = ""  # additional sentence of the caption

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics in the table."""
        return tuple(metric for part in self.parts for metric in part)

    def caption(self, cell: CellTable) -> str:
        """Return the caption: the sentences that differ from cell to cell."""
        has_diverged = any("diverged" in cell.troubles[run] for run in cell.labels)
        has_seconds = any(find_metric(name).unit == "s" for name in self.metrics)
        return join_sentences(
            f"{self.subject}: {cell.title}.",
            _describe_affected(cell) if "avg_gap_affected" in self.metrics else "",
            describe_spread(cell),
            DEVIATION,
            PROTOCOLS[cell.benchmark.sharing],
            DIVERGED if has_diverged else "",
            self.note,
            different_devices(cell) if has_seconds else "",
        )

    def conventions(self, num_seeds: int) -> str:
        """Return sentences that explain the columns; they are the same for all cells."""
        terms = {term for gap in TERMS.values() for term in gap}
        return join_sentences(
            UA,
            describe_metrics(name for name in self.metrics if name not in terms),
            RANKING.format(ranked=self.ranked),
            FLOOR_NOTE if num_seeds > 1 else "",
            UNDEFINED,
        )


@dataclass(frozen=True)
class ComparedColumn(Column):
    """A column with a metric and, in parentheses, its deviation from Retrain; or an average gap."""

    nearest: tuple[str, ...] = ()  # methods nearest to Retrain in this metric

    @property
    def is_gap(self) -> bool:
        """Whether the metric is an average gap, which is already a distance from Retrain."""
        return self.metric in TERMS

    @property
    def is_compared(self) -> bool:
        """Whether runs are compared with Retrain in this metric."""
        return find_metric(self.metric).ideal == "retrain"

    def value(self, row: TableRow) -> float:
        """Return a run's mean over seeds; an average gap is a single number, and 0 for Retrain."""
        return 0.0 if self.is_gap and row.run == row.cell.reference else super().value(row)

    def deviation(self, row: TableRow) -> float:
        """Return a run's mean over seeds minus Retrain's; NaN for Retrain itself."""
        if row.run == row.cell.reference or not self.is_compared:
            return math.nan
        counterpart = row.cell.values(row.cell.reference, str(self.reference_metric))
        return mean(self.values(row)) - mean(counterpart)

    def distance(self, row: TableRow) -> float:
        """Return a run's distance from Retrain, by which methods are ranked."""
        return self.value(row) if self.is_gap else abs(self.deviation(row))

    def field(self, row: TableRow) -> Field:
        """Return a run's table entry: value, deviation from Retrain, bold if nearest to Retrain."""
        shown = replace(super().field(row), is_best=row.run in self.nearest)
        deviation = self.deviation(row)
        if math.isnan(deviation):
            return shown
        text = f"({find_metric(self.metric).text(deviation, sign=True)})"
        is_chance = self._is_within_noise(row)
        return replace(shown, order=abs(deviation), deviation=text, is_chance=is_chance)

    def record(self, row: TableRow) -> dict[str, Any]:
        """Return the unrounded number with its deviation from Retrain, for the CSV file."""
        found = super().record(row)
        return {
            **{key: found[key] for key in ("run", "label", "kind")},
            "metric": self.metric,
            **{key: found[key] for key in ("mean", "std")},
            "deviation": self.deviation(row),
            "n": found["n"] or "",
            "status": row.note or "ok",
            "best": row.run in self.nearest,
            "chance": self._is_within_noise(row),
        }

    def floor(self, cell: CellTable) -> float:
        """Return the noise floor of the metric; NaN if it has no noise floor."""
        is_known = self.is_gap or self.is_compared
        metric = self.metric if self.is_gap else self.reference_metric
        return cell.number(cell.reference, "floor", at=metric) if is_known else math.nan

    def floor_field(self, cell: CellTable) -> Field:
        """Return the table entry of the noise floor; empty if the metric has no noise floor."""
        if math.isnan(floor := self.floor(cell)):
            return Field("")
        text = find_metric(self.metric).text(floor)
        return Field(text) if self.is_gap else Field("", deviation=f"({text})")

    def floor_record(self, cell: CellTable) -> dict[str, Any]:
        """Return the unrounded noise floor for the CSV file."""
        return {
            **FLOOR,
            "metric": self.metric,
            "mean": self.floor(cell) if self.is_gap else math.nan,
            "std": math.nan,
            "deviation": math.nan if self.is_gap else self.floor(cell),
            "n": "",
            "status": "ok",
            "best": False,
            "chance": False,
        }

    def _is_within_noise(self, row: TableRow) -> bool:
        return abs(self.deviation(row)) <= noise_floor(row.cell, str(self.reference_metric))


def compare(cell: CellTable, comparison: Comparison) -> Table:
    """Return a table of all runs of a cell, and of the noise floor if there are several seeds."""
    columns = {name: _compared_column(cell, name) for name in comparison.metrics}
    groups, has_floor = rows_by_kind(cell), len(cell.seeds) > 1
    grids = []
    for part in comparison.parts:
        shown = [columns[name] for name in part]
        fields = [column.floor_field(cell) for column in shown]
        floor = [Line(FLOOR["label"], fields, is_aside=True)] if has_floor else []
        grids.append(build_grid(comparison.corner, shown, [*groups[:-1], [*groups[-1], *floor]]))
    records = [column.record(row) for rows in groups for row in rows for column in columns.values()]
    records += [column.floor_record(cell) for column in columns.values() if has_floor]
    return Table(
        comparison.name,
        comparison.subject,
        grids,
        comparison.caption(cell),
        comparison.conventions(len(cell.seeds)),
        records,
    )


def _compared_column(cell: CellTable, metric: str) -> ComparedColumn:
    column = ComparedColumn(metric, reference_metric=COUNTERPARTS.get(metric, metric))
    if not (column.is_gap or column.is_compared):
        return column
    return replace(column, nearest=tuple(_find_nearest(cell, column)))


def _find_nearest(cell: CellTable, column: ComparedColumn) -> Iterator[str]:
    """Yield the methods nearest to Retrain, with ties, among methods without a failed seed."""
    [methods] = rows_by_kind(cell, ("method",))
    distances = {row.run: column.distance(row) for row in methods if not row.note}
    least = min((d for d in distances.values() if not math.isnan(d)), default=math.nan)
    for run, distance in distances.items():
        # Distances that differ by rounding errors only are ties.
        if math.isclose(distance, least, abs_tol=1e-12):
            yield run


def _describe_affected(cell: CellTable) -> str:
    """Return a sentence about the affected classes, if there are several."""
    if len(cell.forgotten) < 2:
        return ""
    named = f" ({', '.join(cell.forgotten)})" if len(cell.forgotten) <= MOST_NAMED else ""
    return f"Affected are the {len(cell.forgotten)} classes that have a forgotten example{named}."

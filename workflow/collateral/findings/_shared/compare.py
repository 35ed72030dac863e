"""Compare every run with Retrain: deviations, noise floors, and the best and worst methods."""

import math
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from collateral.contract.rows import At
from collateral.contract.tables import Field, Table
from collateral.findings._shared import captions
from collateral.findings.columns import (
    Column,
    TableRow,
    build_grid,
    build_records,
    rows_by_kind,
    run_row,
)
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric, is_known
from collateral.metrics.arrays import Floats
from collateral.metrics.statistics import mean, std, t_quantile
from collateral.results.table import MOST_NAMED, CellTable

# Metrics that Retrain does not have, and the metric of Retrain with which each is compared.
COUNTERPARTS = {"teacher_ua": "ua", "target_ua": "ua"}
MAIN = (*TERMS["avg_gap"], "avg_gap", "rte")
# No column "UA affected": all forgotten examples are in affected classes, so it would equal UA.
AFFECTED = ("ra_affected", "ta_affected", "avg_gap_affected")
FLOOR = "retrain_other_seeds"  # name of the noise floor in column `run` of the CSV file
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
    f"groups of n retrained models. {captions.CHANCE}"
)
UNITS = ("%", "points", "s", "nats")  # units that a sentence prints after a number
# Text that follows the name of a metric in a sentence, by subset of examples.
SUBSETS = {
    "": "",
    "forget": " on the forget set",
    "retain": " on retained examples",
    "test": " on test examples",
}
UNDEFINED = "–: undefined, or no seed gave a number; it is left out of the gap."


def noise_floor_of_gap(cell: CellTable, metric: str) -> float:
    """Return the noise floor of an average gap, or of a metric that is averaged in one.

    95 % of the differences between means of two groups of retrained models are smaller.
    """
    # sqrt(pi / 2) is the standard deviation of a normal variable over its mean absolute deviation.
    standard = math.sqrt(math.pi / 2) * cell.number(cell.reference, "floor", at=metric)
    return t_quantile(len(cell.seeds)) * standard


def noise_floor_by_sd(cell: CellTable, metric: str, subset: str = "", at: At = None) -> float:
    """Return the noise floor of a metric from the rows of `<metric>_sd`, which its finding writes.

    These are the standard deviations of the mean difference between retrainings.
    """
    if not is_known(f"{metric}_sd"):
        raise ValueError(f"{metric}: no noise floor, because no finding declares {metric}_sd")
    return t_quantile(len(cell.seeds)) * cell.number(cell.reference, f"{metric}_sd", subset, at)


@dataclass(frozen=True)
class ComparedColumn(Column):
    """A column that shows a metric with its deviation from Retrain, or an average gap from Retrain.

    The row of the noise floor shows the gap or deviation between two groups of retrained models.
    """

    nearest: tuple[str, ...] = ()  # methods nearest to Retrain in this metric

    @property
    def is_gap(self) -> bool:
        """Whether the metric is an average gap, which is already a distance from Retrain."""
        return self.metric in TERMS

    def value(self, row: TableRow) -> float:
        """Return a run's mean over seeds, or its average gap, which is 0 for Retrain."""
        if row.run == FLOOR:
            return self.floor(row.cell) if self.is_gap else math.nan
        return 0.0 if self.is_gap and row.run == row.cell.reference else super().value(row)

    def deviation(self, row: TableRow) -> float:
        """Return the mean of a run over seeds minus the mean of Retrain; NaN for Retrain itself."""
        if row.run == row.cell.reference or find_metric(self.metric).ideal != "retrain":
            return math.nan
        if row.run == FLOOR:
            return self.floor(row.cell)
        counterpart = row.cell.values(row.cell.reference, str(self.reference_metric))
        return mean(self.values(row)) - mean(counterpart)

    def distance(self, row: TableRow) -> float:
        """Return a run's distance from Retrain, by which methods are ranked."""
        return self.value(row) if self.is_gap else abs(self.deviation(row))

    def field(self, row: TableRow) -> Field:
        """Return the table entry of a run: its value and its deviation from Retrain.

        The entry is bold if the run is the method nearest to Retrain.
        """
        deviation, is_floor = self.deviation(row), row.run == FLOOR
        text = f"({find_metric(self.metric).text(deviation, sign=not is_floor)})"
        if is_floor:
            value = find_metric(self.metric).text(self.value(row)) if self.is_gap else ""
            return Field(value, deviation="" if math.isnan(deviation) else text)
        shown = replace(super().field(row), is_best=row.run in self.nearest)
        if math.isnan(deviation):
            return shown
        is_chance = self._is_within_noise(row)
        return replace(shown, order=abs(deviation), deviation=text, is_chance=is_chance)

    def record(self, row: TableRow) -> dict[str, Any]:
        """Return the CSV record of a row: the unrounded number and its deviation from Retrain."""
        values = self.values(row)
        return {
            "run": row.run,
            "label": row.label,
            "kind": row.cell.kinds.get(row.run, "floor"),
            "metric": self.metric,
            "mean": self.value(row),
            "std": std(values),
            "deviation": self.deviation(row),
            "n": np.count_nonzero(~np.isnan(values)) or "",
            "status": row.note or "ok",
            "best": row.run in self.nearest,
            "chance": self._is_within_noise(row),
        }

    def floor(self, cell: CellTable) -> float:
        """Return the expected deviation of the metric between retrainings; NaN if undefined."""
        metric = self.metric if self.is_gap else self.reference_metric
        return cell.number(cell.reference, "floor", at=metric)

    def _is_within_noise(self, row: TableRow) -> bool:
        limit = noise_floor_of_gap(row.cell, str(self.reference_metric))
        return row.run != FLOOR and abs(self.deviation(row)) <= limit


def compare(
    cell: CellTable,
    name: str,
    subject: str,
    *parts: tuple[str, ...],  # names of the metrics of each grid
    corner: str = "Method",
    ranked: str = "method",  # word for a ranked row in the caption
    note: str = "",  # additional sentence of the caption
) -> Table:
    """Return a table that compares all runs of a cell with Retrain.

    With several seeds, the last row is the noise floor.
    """
    columns = {metric: _compared_column(cell, metric) for part in parts for metric in part}
    groups = rows_by_kind(cell)
    if len(cell.seeds) > 1:
        groups[-1].append(TableRow(cell, FLOOR, "Retrain, other seeds", is_aside=True))
    grids = [build_grid(corner, [columns[metric] for metric in part], groups) for part in parts]
    caption = captions.join_sentences(
        f"{subject}: {cell.title}.",
        _describe_affected(cell) if "avg_gap_affected" in columns else "",
        captions.describe_spread(cell),
        DEVIATION,
        PROTOCOLS[cell.benchmark.sharing],
        DIVERGED if any("diverged" in cell.troubles[run] for run in cell.labels) else "",
        note,
        captions.different_devices(cell) if "rte" in columns else "",
    )
    terms = {term for gap in TERMS.values() for term in gap}
    conventions = captions.join_sentences(
        UA,
        captions.describe_metrics(cell, [metric for metric in columns if metric not in terms]),
        RANKING.format(ranked=ranked),
        FLOOR_NOTE if len(cell.seeds) > 1 else "",
        UNDEFINED,
    )
    records = build_records(chain(*groups), [*columns.values()])
    return Table(name, subject, grids, caption, conventions, records)


def _compared_column(cell: CellTable, metric: str) -> ComparedColumn:
    """Return the column of a metric, with the names of the methods nearest to Retrain.

    Ties are all named. Methods with a failed seed are not ranked.
    """
    column = ComparedColumn(metric, reference_metric=COUNTERPARTS.get(metric, metric))
    [methods] = rows_by_kind(cell, ("method",))
    distances = {row.run: column.distance(row) for row in methods if not row.note}
    least = min((d for d in distances.values() if not math.isnan(d)), default=math.nan)
    # Distances that differ by rounding errors only are ties.
    ties = [run for run, d in distances.items() if math.isclose(d, least, abs_tol=1e-12)]
    return replace(column, nearest=tuple(ties))


def _describe_affected(cell: CellTable) -> str:
    """Return a sentence about the affected classes; empty if there are fewer than two."""
    if len(cell.forgotten) < 2:
        return ""
    named = f" ({', '.join(cell.forgotten)})" if len(cell.forgotten) <= MOST_NAMED else ""
    return f"Affected are the {len(cell.forgotten)} classes that have a forgotten example{named}."


def name_extremes(cell: CellTable, metric: str, subset: str = "") -> str:
    """Return a sentence that names the methods with the best and the worst mean over seeds.

    The sentence is empty if all means are equal.
    """
    shown, column = find_metric(metric), Column(metric, subset)
    means = {cell.labels[run]: column.value(run_row(cell, run)) for run in cell.runs("method")}
    known = {label: value for label, value in means.items() if not math.isnan(value)}
    unit = f" {shown.unit}" if shown.unit in UNITS else ""
    texts = {label: shown.text(value) + unit for label, value in known.items()}
    is_near, is_high = shown.ideal == "retrain", shown.ideal == "high"
    reference = column.value(run_row(cell, cell.reference)) if is_near else 0.0
    if len(set(texts.values())) < 2 or math.isnan(reference):
        return ""
    distances = {label: abs(v - reference) if is_near else v for label, v in known.items()}
    order = sorted(distances, key=lambda label: -distances[label] if is_high else distances[label])
    best, worst = (
        f"{', '.join(label for label in order if texts[label] == texts[end])} ({texts[end]})"
        for end in (order[0], order[-1])
    )
    first, last = ("highest", "lowest") if is_high else ("lowest", "highest")
    if is_near:
        owner = f"{cell.reference_label}'s ({shown.text(reference)}{unit})"
        first, last = f"nearest to {owner}", "furthest"
    name = f"{shown.label}{SUBSETS[subset]}"
    return f"{name} is {first} with {best}, and {last} with {worst}."


def gap_by_seed(cell: CellTable, run: str) -> Floats:
    """Return the contribution of each seed to a run's average gap; their mean is the gap.

    All are NaN if a term of the gap is undefined in a seed.
    """
    away = np.array(
        [cell.values(run, at) - cell.values(cell.reference, at) for at in TERMS["avg_gap"]]
    )
    signs = np.sign(away.mean(axis=1, keepdims=True))
    parts: Floats = (signs * away).mean(axis=0)
    return parts

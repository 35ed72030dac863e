"""The answer to a finding's question in one sentence: the best and the worst method by a metric."""

import math

from collateral.contract.metrics import Metric
from collateral.findings.columns import Column, TableRow
from collateral.findings.metric_index import find_metric
from collateral.results.table import CellTable

UNITS = ("%", "points", "s", "nats")  # units that are written after numbers; others are left out
# Text that a sentence adds to the name of a metric, by subset of examples.
SUBSETS = {"": "", "forget": " on the forget set", "retain": " on retained examples"}


def name_extremes(cell: CellTable, metric: str, subset: str = "") -> str:
    """Name the methods with the best and the worst mean over seeds; empty if all are equal."""
    shown, column = find_metric(metric), Column(metric, subset)
    name = f"{shown.label}{SUBSETS[subset]}"
    rows = {run: TableRow(cell, run, cell.labels[run]) for run in cell.runs("method")}
    means = {row.label: column.value(row) for row in rows.values()}
    known = {label: value for label, value in means.items() if not math.isnan(value)}
    is_near = shown.ideal == "retrain"
    ideal = column.value(TableRow(cell, cell.reference, "")) if is_near else 0.0
    if math.isnan(ideal):
        return ""
    sign = -1 if shown.ideal == "high" else 1
    costs = {label: abs(v - ideal) if is_near else sign * v for label, v in known.items()}
    order = sorted(costs, key=lambda label: costs[label])
    texts = {label: _with_unit(shown, known[label]) for label in order}
    if len(set(texts.values())) < 2:
        return ""
    best, worst = (
        f"{', '.join(label for label in order if texts[label] == texts[end])} ({texts[end]})"
        for end in (order[0], order[-1])
    )
    if is_near:
        reference = f"{cell.reference_label}'s ({_with_unit(shown, ideal)})"
        return f"{name} is nearest to {reference} with {best}, and furthest with {worst}."
    first, last = ("highest", "lowest") if shown.ideal == "high" else ("lowest", "highest")
    return f"{name} is {first} with {best}, and {last} with {worst}."


def _with_unit(metric: Metric, value: float) -> str:
    return metric.text(value) + (f" {metric.unit}" if metric.unit in UNITS else "")

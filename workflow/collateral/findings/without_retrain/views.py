"""Table for benchmarks without Retrain: accuracies, and losses compared with the base model."""

from collections.abc import Iterator
from dataclasses import replace

from collateral.contract.tables import Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import (
    Column,
    all_rows,
    build_records,
    build_table,
    rows_by_kind,
)
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean
from collateral.results.table import CellTable

COLUMNS = [
    *map(Column, ("ua", "ra", "ta", "mia")),
    Column("near_loss", "retain", heading="Lost near", reference_metric="", sign=True),
    Column("far_loss", "retain", heading="Lost far", reference_metric="", sign=True),
    Column("rf_js"),
]
CAPTION = (
    "Without Retrain: {title}. {spread} No verdict can be given: only Retrain shows how accurate a "
    "model without the forgotten examples is on them. Lost: the base model's accuracy minus the "
    "run's, in points, on the retained examples nearest to the forgotten ones, and on all others. "
    "UA of a local teacher that is not trained on the forget set, an estimate of Retrain's: {ua} %."
)
SUMMARY = "No verdict, as there is no Retrain. UA: {runs}; the base's is {base} %."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of the metrics that do not need Retrain."""
    ua = find_metric("estimated_ua").text(cell.number(cell.reference, "estimated_ua"))
    caption = join_sentences(fill_caption(CAPTION, cell, ua=ua), describe_metrics(["rf_js"]))
    groups = rows_by_kind(cell)
    table = build_table("without-retrain", "Without Retrain", COLUMNS, groups, caption)
    yield replace(table, records=build_records(all_rows(cell), COLUMNS))


def words(cell: CellTable) -> str:
    """Return a sentence with the UA of all methods and of the base model."""
    found = {run: find_metric("ua").text(mean(cell.values(run, "ua"))) for run in cell.labels}
    runs = ", ".join(f"{cell.labels[run]} {found[run]} %" for run in cell.runs("method"))
    return SUMMARY.format(runs=runs or "none", base=found[cell.reference])

"""Table for benchmarks without Retrain: accuracies, and losses compared with the base model."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Line, Table
from collateral.findings._shared.captions import describe_metrics, fill_caption, join_sentences
from collateral.findings.columns import (
    Column,
    TableRow,
    all_rows,
    build_records,
    build_table,
    number_field,
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
    "run's, in points, on the retained examples nearest to the forgotten ones, and on all others."
)
ESTIMATE = "The local teacher is not trained on the forget set: its UA estimates Retrain's."
SUMMARY = "No verdict, as there is no Retrain. UA: {runs}; the base's is {base} %."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of the metrics that do not need Retrain."""
    teacher = _teacher_line(cell)
    groups: list[Sequence[TableRow | Line]] = [*rows_by_kind(cell), teacher]
    caption = join_sentences(
        fill_caption(CAPTION, cell), ESTIMATE if teacher else "", describe_metrics(cell, ["rf_js"])
    )
    table = build_table("without-retrain", "Without Retrain", COLUMNS, groups, caption)
    yield replace(table, records=build_records(all_rows(cell), COLUMNS))


def _teacher_line(cell: CellTable) -> list[Line]:
    """Return a row with the UA of the local teacher; no row if there is no teacher."""
    value = cell.number(cell.reference, "estimated_ua")
    if math.isnan(value):
        return []
    ua = number_field(cell.reference, "estimated_ua", value)
    return [Line("Local teacher", [ua, *(Field(EMPTY) for _ in COLUMNS[1:])], is_aside=True)]


def words(cell: CellTable) -> str:
    """Return a sentence with the UA of all methods and of the base model."""
    found = {run: find_metric("ua").text(mean(cell.values(run, "ua"))) for run in cell.labels}
    runs = ", ".join(f"{cell.labels[run]} {found[run]} %" for run in cell.runs("method"))
    return SUMMARY.format(runs=runs or "none", base=found[cell.reference])

"""What every run forgot, and what it lost against the base."""

import math
from collections.abc import Iterator
from dataclasses import replace

from collateral.contract.metrics import EMPTY
from collateral.contract.tables import Field, Grid, Line, Source, Table
from collateral.findings._shared.captions import described, joined, over_seeds
from collateral.findings._shared.tables import csv_record, field_of, line_of
from collateral.findings.catalogue import metric_of
from collateral.findings.plain import KINDS
from collateral.results.table import CellTable

# Number and set, and the heading where the metric's own does not say enough.
COLUMNS = {
    ("ua", ""): "",
    ("ra", ""): "",
    ("ta", ""): "",
    ("mia", ""): "",
    ("near_loss", "retain"): "Lost near",
    ("far_loss", "retain"): "Lost far",
    ("rf_js", ""): "",
}
TEACHER = "Local teacher"
CAPTION = (
    "Without Retrain: {title}. {spread} No verdict can be given: only Retrain tells how accurate a "
    "model that never saw them is on the forgotten examples. Lost: the base's accuracy minus the "
    "run's, in points, on the retained examples nearest to the forgotten ones, and on all others."
)
ESTIMATE = "The local teacher never saw the forget set: its UA is an estimate of Retrain's."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of what needs no Retrain."""
    groups = [[_line(cell, run) for run in cell.runs(kind)] for kind in KINDS]
    groups.append(_teacher(cell))
    headings = [title or metric_of(name).heading for (name, _), title in COLUMNS.items()]
    caption = CAPTION.format(title=cell.title, spread=over_seeds(cell))
    yield Table(
        "without-retrain",
        "Without Retrain",
        [Grid("Method", headings, [group for group in groups if group])],
        joined(caption, ESTIMATE if groups[-1] else "", described(["rf_js"])),
        records=[csv_record(cell, run, *column) for run in cell.labels for column in COLUMNS],
    )


def _line(cell: CellTable, run: str) -> Line:
    return line_of(cell, run, [_field(cell, run, *column) for column in COLUMNS])


def _field(cell: CellTable, run: str, metric: str, name: str) -> Field:
    if run == cell.reference and metric.endswith("_loss"):
        return Field(EMPTY)
    found = field_of(metric_of(metric), cell.values(run, metric, name), sign=bool(name))
    return replace(found, source=Source(run, metric, name))


def _teacher(cell: CellTable) -> list[Line]:
    """Return the row of the teacher, which has one number; none where there is no teacher."""
    value, metric = cell.number(cell.reference, "estimated_ua"), metric_of("estimated_ua")
    if math.isnan(value):
        return []
    own = Field(metric.text(value), source=Source(cell.reference, "estimated_ua"))
    return [Line(TEACHER, [own, *(Field(EMPTY) for _ in range(len(COLUMNS) - 1))], is_aside=True)]

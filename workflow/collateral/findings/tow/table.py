"""Both products of every run."""

from collections.abc import Iterator

from collateral.contract.tables import Grid, Table
from collateral.findings._shared.against import WHAT_IT_IS, groups, runs_shown
from collateral.findings._shared.captions import described, joined, over_seeds
from collateral.findings._shared.tables import csv_record, field_by_seed
from collateral.findings.tow import METRICS
from collateral.results.table import REFERENCE, CellTable

CAPTION = "Tug of war: {title}. {spread}"


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a column a product; nothing where there are no numbers."""
    lines = groups(cell, lambda run: [field_by_seed(cell, run, name) for name in METRICS])
    if not lines or "tow" not in cell.metrics(REFERENCE):
        return
    yield Table(
        "tow",
        "Tug of war",
        [Grid("Method", [metric.heading for metric in METRICS.values()], lines)],
        CAPTION.format(title=cell.title, spread=over_seeds(cell)),
        joined(described(METRICS), WHAT_IT_IS),
        [csv_record(cell, run, name) for run in runs_shown(cell) for name in METRICS],
    )

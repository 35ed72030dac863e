"""The plain table of a finding: every run a row, every number a column."""

from collections.abc import Sequence

from collateral.contract.tables import Grid, Table
from collateral.findings._shared.captions import described, joined, over_seeds
from collateral.findings._shared.tables import csv_record, field_by_seed, line_of
from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable

KINDS = ("reference", "method", "control")


def plain_table(cell: CellTable, name: str, title: str, metrics: Sequence[str]) -> Table:
    """Return the table of numbers that runs have by seed: Retrain, methods, controls."""
    groups = [
        [
            line_of(cell, run, [field_by_seed(cell, run, metric) for metric in metrics])
            for run in cell.runs(kind)
        ]
        for kind in KINDS
    ]
    headings = [metric_of(metric).heading for metric in metrics]
    return Table(
        name,
        title,
        [Grid("Method", headings, [group for group in groups if group])],
        joined(f"{title}: {cell.title}.", over_seeds(cell), described(metrics)),
        records=[csv_record(cell, run, m) for run in cell.labels for m in metrics],
    )

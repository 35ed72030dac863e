"""Table of our numbers beside the paper's, for cells that have a setting of the paper."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import describe_spread
from collateral.findings.columns import Column, number_source, run_row
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import standard_error
from collateral.results.table import CellTable
from paper.printed import Printed, cell_setting, in_standard_errors, printed

ERRORS = Metric("Standard errors", "", "", digits=1)
CAPTION = (
    "Our numbers beside the paper's: {title}. {spread} The paper's ± is over its own runs, ddof=0. "
    "Standard errors: the difference over the root of the sum of both squared standard errors. "
    "RTE was measured on different machines and cannot be compared."
)
HEADINGS = ["Number", "Here", "Paper", "Difference", ERRORS.label, "Paper's table"]


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a table of those numbers that the paper also reports.

    There is no table if the cell has none of the paper's settings.
    """
    cell = cell.with_sweeps()
    setting = cell_setting(cell.benchmark.data, cell.benchmark.model, cell.forgotten)
    found = printed(setting) if setting else []
    records = [_make_record(cell, one) for one in found if one.run in cell.labels]
    records = [record for record in records if not np.isnan(record["mean"])]
    if records:
        groups: dict[str, list[Line]] = {}
        for record in records:
            groups.setdefault(record["metric"], []).append(_make_line(record))
        yield Table(
            "paper",
            "Beside the paper",
            [Grid("Run", HEADINGS, list(groups.values()))],
            CAPTION.format(title=cell.title, spread=describe_spread(cell)),
            records=records,
        )


def _make_record(cell: CellTable, theirs: Printed) -> dict[str, Any]:
    row, column = run_row(cell, theirs.run), Column(theirs.metric)
    ours, error = column.record(row), standard_error(column.values(row))
    return {
        **{key: ours[key] for key in ("run", "label", "metric", "mean", "std", "n")},
        "paper_mean": theirs.mean,
        "paper_std": theirs.std,
        "paper_n": theirs.runs or "",
        "paper_table": theirs.table,
        "difference": ours["mean"] - theirs.mean,
        "standard_errors": in_standard_errors(ours["mean"], error, theirs),
    }


def _make_line(record: dict[str, Any]) -> Line:
    metric, errors = find_metric(record["metric"]), record["standard_errors"]
    ours, theirs = ((record[f"{whose}mean"], record[f"{whose}std"]) for whose in ("", "paper_"))
    source = number_source(record["run"], record["metric"])
    return Line(
        record["label"],
        [
            Field(metric.heading),
            Field(metric.text(*ours), ours[0], source=source),
            Field(metric.text(*theirs), theirs[0]),
            Field(
                metric.text(record["difference"], sign=True), record["difference"], source=source
            ),
            Field(ERRORS.text(errors, sign=True), errors),
            Field(str(record["paper_table"]), record["paper_table"]),
        ],
    )

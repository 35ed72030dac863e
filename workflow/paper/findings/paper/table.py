"""The table of our numbers beside the paper's, in cells that the paper has too."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from collateral.contract.metrics import EMPTY, Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import over_seeds
from collateral.findings._shared.tables import source_of
from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable, mean, standard_error, std
from paper.printed import Printed, cell_setting, in_standard_errors, printed

ERRORS = Metric("Standard errors", "", "", digits=1)
CAPTION = (
    "Ours beside the paper's: {title}. {spread} The paper's ± is over its own runs (ddof=0). "
    "Standard errors: the difference over the root of the sum of both squared standard errors. "
    "RTE is of other machines here and there, and no measure of either."
)
HEADINGS = ["Number", "Here", "Paper", "Difference", ERRORS.label, "Paper's table"]


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of a cell whose setting the paper has."""
    cell = cell.with_sweeps()
    setting = cell_setting(cell.benchmark.data, cell.benchmark.model, cell.forgotten)
    found = printed(setting) if setting else []
    records = [_record(cell, one) for one in found if one.run in cell.labels]
    records = [record for record in records if not np.isnan(record["mean"])]
    if records:
        groups: dict[str, list[Line]] = {}
        for record in records:
            groups.setdefault(record["metric"], []).append(_line(record))
        yield Table(
            "paper",
            "Beside the paper",
            [Grid("Run", HEADINGS, list(groups.values()))],
            CAPTION.format(title=cell.title, spread=over_seeds(cell)),
            records=records,
        )


def _record(cell: CellTable, theirs: Printed) -> dict[str, Any]:
    values = cell.values(theirs.run, theirs.metric)
    ours = mean(values) if not np.isnan(values).all() else cell.number(theirs.run, theirs.metric)
    return {
        "run": theirs.run,
        "label": cell.labels[theirs.run],
        "metric": theirs.metric,
        "mean": ours,
        "std": std(values),
        "n": int(np.count_nonzero(~np.isnan(values))),
        "paper_mean": theirs.mean,
        "paper_std": theirs.std,
        "paper_n": theirs.runs or "",
        "paper_table": theirs.table,
        "difference": ours - theirs.mean,
        "standard_errors": in_standard_errors(ours, standard_error(values), theirs),
    }


def _line(record: dict[str, Any]) -> Line:
    metric, errors = metric_of(record["metric"]), record["standard_errors"]
    ours, theirs = ((record[f"{whose}mean"], record[f"{whose}std"]) for whose in ("", "paper_"))
    source = source_of(record["run"], record["metric"])
    return Line(
        record["label"],
        [
            Field(metric.heading),
            Field(metric.text(*ours), ours[0], source=source),
            Field(metric.text(*theirs), theirs[0]),
            Field(
                metric.text(record["difference"], sign=True), record["difference"], source=source
            ),
            Field(EMPTY if np.isnan(errors) else ERRORS.text(errors, sign=True), errors),
            Field(str(record["paper_table"]), record["paper_table"]),
        ],
    )

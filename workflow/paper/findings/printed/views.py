"""Table of our and the paper's deviations from the paper's means for Retrain."""

import math
from collections.abc import Iterator
from typing import Any

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import describe_spread
from collateral.findings.columns import number_source, run_row
from collateral.findings.gap import TERMS
from collateral.findings.metric_index import find_metric
from collateral.metrics.statistics import mean, std
from collateral.results.layout import RETRAIN
from collateral.results.table import CellTable
from paper.reference import deviation, printed_cell, printed_number

STDS = Metric("Standard deviations", "", "", digits=1)
TITLE = "Beside the printed Retrain"
CAPTION = (
    "{title}. {spread} In parentheses: deviation from Retrain's printed mean, in points. Avg. Gap: "
    "mean absolute deviation over the columns to its left. The paper's ± is over its own runs, "
    "ddof=0. Difference: our mean minus the paper's, in the paper's standard deviations. No "
    "verdict is given against printed numbers."
)
SUMMARY = "Avg. Gap to the printed Retrain, in points: {runs}."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table if the config names the paper as reference; else nothing."""
    if not printed_cell(cell):
        return
    records = {
        (run, metric): _make_record(cell, run, metric)
        for run in (RETRAIN, *cell.labels)
        for gap, terms in TERMS.items()
        for metric in (*terms, gap)
    }
    grids = [
        Grid(
            "Method",
            [find_metric(metric).heading for metric in (*terms, gap)],
            [
                list(_make_lines(cell, run, [records[run, metric] for metric in (*terms, gap)]))
                for run in (RETRAIN, *cell.labels)
            ],
        )
        for gap, terms in TERMS.items()
    ]
    caption = CAPTION.format(title=cell.title, spread=describe_spread(cell))
    yield Table("printed", TITLE, grids, caption, records=list(records.values()))


def words(cell: CellTable) -> str:
    """Return a sentence with all methods' average gaps to the paper's means for Retrain.

    It is empty if the paper has no numbers for this cell.
    """
    if not printed_cell(cell):
        return ""
    gaps = {run: printed_number(cell, run, "avg_gap") for run in cell.runs("method")}
    known = sorted((gap, run) for run, gap in gaps.items() if not math.isnan(gap))
    shown = [f"{cell.labels[run]} {find_metric('avg_gap').text(gap)}" for gap, run in known]
    return SUMMARY.format(runs=", ".join(shown) or "none")


def _make_record(cell: CellTable, run: str, metric: str) -> dict[str, Any]:
    """Return a record of one run and metric: our mean, the paper's mean, and their difference.

    It also has the deviation of each mean from the paper's mean for Retrain.
    """
    theirs, values = printed_cell(cell).get((run, metric)), cell.values(run, metric)
    is_gap, retrain = metric in TERMS, printed_number(cell, RETRAIN, metric)
    ours = printed_number(cell, run, metric) if is_gap and run != RETRAIN else mean(values)
    paper, spread = (theirs.mean, theirs.std) if theirs else (math.nan, math.nan)
    return {
        "run": run,
        "metric": metric,
        "mean": ours,
        "std": std(values),
        "deviation": math.nan if is_gap else deviation(cell, run, metric),
        "paper_mean": paper,
        "paper_std": spread,
        "paper_deviation": math.nan if is_gap or run == RETRAIN else paper - retrain,
        "difference": ours - paper,
        "paper_stds": (ours - paper) / spread if spread > 0 else math.nan,
    }


def _make_lines(cell: CellTable, run: str, records: list[dict[str, Any]]) -> Iterator[Line]:
    """Yield up to three table rows of a run: our means, the paper's means, their differences."""
    if run != RETRAIN:
        row = run_row(cell, run)
        fields = [_make_field(record, "") for record in records]
        yield Line(row.label, fields, row.note, row.is_aside)
    if all(math.isnan(record["paper_mean"]) for record in records):
        return
    label = "Retrain" if run == RETRAIN else cell.labels[run]
    yield Line(f"{label}, paper", [_make_field(record, "paper_") for record in records])
    if run != RETRAIN:
        fields = [
            Field(STDS.text(record["paper_stds"], sign=True), record["paper_stds"])
            for record in records
        ]
        yield Line(f"{label}, difference", fields, is_aside=True)


def _make_field(record: dict[str, Any], whose: str) -> Field:
    """Return the table entry of a mean with its standard deviation.

    Its deviation from the paper's mean for Retrain is in parentheses.
    """
    name, metric = record["metric"], find_metric(record["metric"])
    value, spread, away = (record[f"{whose}{key}"] for key in ("mean", "std", "deviation"))
    shown = "" if math.isnan(away) else f"({metric.text(away, sign=True)})"
    # Only our own means have a source: the paper's means, and gaps to them, are in no long table.
    source = number_source(record["run"], name) if not whose and name not in TERMS else None
    return Field(metric.text(value, spread), value, shown, source=source)

"""Time and memory of every run."""

from collections.abc import Iterator

import numpy as np

from collateral.contract.metrics import Metric
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import described, over_seeds
from collateral.findings._shared.tables import csv_record, field_of, line_of
from collateral.findings.catalogue import metric_of
from collateral.results.table import REFERENCE, CellTable, mean

TOTALS = ("rte", "tuning_seconds", "support_size_seconds", "peak_rss_mb", "peak_device_mb")
SHARE = Metric("of Retrain's RTE", "", "%")
CAPTION = "Costs: {title}. {spread} RTE counts all phases but evaluation."


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield the table of costs; nothing where none were measured."""
    values = {name: [cell.values(run, name) for run in cell.labels] for name in TOTALS}
    if totals := [name for name in TOTALS if not np.isnan(values[name]).all()]:
        yield Table(
            "costs",
            "Costs",
            [_totals(cell, totals), *_phases(cell)],
            CAPTION.format(title=cell.title, spread=over_seeds(cell)),
            described(totals),
            records=[
                *(csv_record(cell, run, name) for run in cell.labels for name in totals),
                *(csv_record(cell, run, "seconds", at=at) for run, at in _run_phases(cell)),
            ],
        )


def _totals(cell: CellTable, totals: list[str]) -> Grid:
    retrain = mean(cell.values(REFERENCE, "rte"))
    lines = []
    for run in cell.labels:
        fields = [field_of(metric_of(name), cell.values(run, name)) for name in totals]
        share = mean(cell.values(run, "rte")) / retrain
        lines.append(line_of(cell, run, [*fields, Field(SHARE.text(share), share)]))
    return Grid("Run", [*(metric_of(name).heading for name in totals), SHARE.heading], [lines])


def _phases(cell: CellTable) -> list[Grid]:
    texts: dict[str, list[str]] = {}
    for run, phase in _run_phases(cell):
        seconds = mean(cell.values(run, "seconds", at=phase))
        texts.setdefault(run, []).append(f"{phase} {metric_of('seconds').text(seconds)}")
    lines = [Line(cell.labels[run], [Field(", ".join(found))]) for run, found in texts.items()]
    return [Grid("Run", ["Phases (s)"], [lines], is_prose=True)] if lines else []


def _run_phases(cell: CellTable) -> list[tuple[str, str]]:
    return [(run, phase) for run in cell.labels for phase in cell.indices(run, "seconds")]

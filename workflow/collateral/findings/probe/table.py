"""What comes back, what is left under noise, and how random it is: beside Retrain's."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from collateral.contract.rows import At
from collateral.contract.tables import Field, Grid, Line, Table
from collateral.findings._shared.captions import CHANCE, described, joined, over_seeds
from collateral.findings._shared.statistics import student_95
from collateral.findings._shared.tables import csv_record, field_by_seed, line_of
from collateral.findings.catalogue import metric_of
from collateral.findings.plain import KINDS
from collateral.findings.probe import METRICS
from collateral.results.table import REFERENCE, CellTable

Column = tuple[str, At]
GAPS = ("relearn_gap", "residual_gap")
CAPTION = "Models used once more: {title}. {spread}"
OF_NEXT_SEED = (
    "In Retrain's line a gap is that of Retrain of the next seed: what retraining again gives."
)


def tables(cell: CellTable) -> Iterator[Table]:
    """Yield a column a number; nothing where no model was probed."""
    columns = columns_of(cell)
    if not columns:
        return
    groups = [[_line(cell, run, columns) for run in cell.runs(kind)] for kind in KINDS]
    names = dict.fromkeys(name for name, _ in columns)
    yield Table(
        "probe",
        "Models used once more",
        [Grid("Method", [_heading(*column) for column in columns], [g for g in groups if g])],
        CAPTION.format(title=cell.title, spread=over_seeds(cell)),
        joined(described(names), *([OF_NEXT_SEED, CHANCE] if len(cell.seeds) > 1 else [])),
        [csv_record(cell, run, name, at=at) for run in _runs(cell) for name, at in columns],
    )


def chance(cell: CellTable, metric: str) -> float:
    """Return how far the mean gap of one more Retrain stays from zero in 95 %; NaN of one seed."""
    own = cell.values(REFERENCE, metric)
    own = own[~np.isnan(own)]
    return student_95(len(own)) * float(np.sqrt(np.mean(own**2) / len(own))) if len(own) else np.nan


def columns_of(cell: CellTable) -> list[Column]:
    """Return the numbers that there are: of the curve, the last step."""
    known = cell.metrics(REFERENCE)
    return [(name, cell.indices(REFERENCE, name)[-1] or None) for name in METRICS if name in known]


def _runs(cell: CellTable) -> list[str]:
    return [run for kind in KINDS for run in cell.runs(kind)]


def _heading(name: str, at: At) -> str:
    metric = metric_of(name)
    return f"{metric.label} by step {at} ({metric.unit})" if at is not None else metric.heading


def _line(cell: CellTable, run: str, columns: list[Column]) -> Line:
    return line_of(cell, run, [_field(cell, run, *column) for column in columns])


def _field(cell: CellTable, run: str, name: str, at: At) -> Field:
    field = field_by_seed(cell, run, name, at=at)
    is_gap = name in GAPS and run != REFERENCE
    return replace(field, is_chance=is_gap and abs(field.order) <= chance(cell, name))

"""Fields, rows and records of tables, from the numbers of a cell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.metrics import Metric
from collateral.contract.rows import At
from collateral.contract.tables import Field, Line, Source
from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable, mean, std


def field_of(metric: Metric, values: NDArray[np.float64], *, sign: bool = False) -> Field:
    """Return the mean over seeds, and their spread."""
    return Field(metric.text(mean(values), std(values), sign=sign), mean(values))


def field_by_seed(
    cell: CellTable, run: str, metric: str, set: str = "", at: At = None, *, sign: bool = False
) -> Field:
    """Return a run's mean over seeds and their spread, and where these stand."""
    shown = field_of(metric_of(metric), cell.values(run, metric, set, at), sign=sign)
    return replace(shown, source=source_of(run, metric, set, at))


def source_of(run: str, metric: str, set: str = "", at: At = None) -> Source:
    """Return where a number stands; `at` as it is written there."""
    return Source(run, metric, set, "" if at is None else str(at))


def line_of(cell: CellTable, run: str, fields: list[Field]) -> Line:
    """Return the row of a run."""
    return Line(cell.labels[run], fields, cell.trouble(run), cell.kinds[run] == "control")


def csv_record(
    cell: CellTable, run: str, metric: str, set: str = "", at: At = None
) -> dict[str, Any]:
    """Return a number of a run unrounded: the seeds' mean and spread, or what is over seeds."""
    values = cell.values(run, metric, set, at)
    n = int(np.count_nonzero(~np.isnan(values)))
    return {
        "run": run,
        "label": cell.labels[run],
        "kind": cell.kinds[run],
        "metric": metric,
        "set": set,
        "at": "" if at is None else at,
        "mean": mean(values) if n else cell.number(run, metric, set, at),
        "std": std(values),
        "n": n,
    }

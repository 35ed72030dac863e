"""What figure and chart of similarity are drawn from: one row a run, bin and seed."""

from __future__ import annotations

import pandas as pd

from collateral.findings._shared.compare import chance_by_sd
from collateral.findings._shared.style import looks
from collateral.findings.catalogue import metric_of
from collateral.results.table import REFERENCE, CellTable, mean

SETS = {"retain": "Retained examples", "test": "Test examples"}
MEASURES = {"delta_acc": "Accuracy", "delta_conf": "True-class confidence"}
PLACE = ["set", "metric", "bin", "low", "high", "count", "chance"]


def prepared(cell: CellTable) -> pd.DataFrame:
    """Return the differences from Retrain in points, and what chance explains in each bin."""
    rows = [
        (*place, run, seed, value)
        for place in _places(cell)
        for run in looks(cell)
        for seed, value in zip(cell.seeds, _points(cell, run, *place[:3]), strict=True)
    ]
    return pd.DataFrame(rows, columns=[*PLACE, "run", "seed", "value"])


def _places(cell: CellTable) -> list[tuple[str, str, int, float, float, float, float]]:
    found = []
    for name in SETS:
        bins = cell.indices(REFERENCE, "bin_low", name)
        lows = [cell.number(REFERENCE, "bin_low", name, b) for b in bins]
        highs = [*lows[1:], *(cell.number(REFERENCE, "bin_high", name, b) for b in bins[-1:])]
        for b, low, high in zip(bins, lows, highs, strict=True):
            count = mean(cell.values(REFERENCE, "bin_count", name, b))
            for metric in MEASURES:
                chance = metric_of(metric).factor * chance_by_sd(cell, metric, name, b)
                found.append((name, metric, int(b), low, high, count, chance))
    return found


def _points(cell: CellTable, run: str, name: str, metric: str, b: int) -> list[float]:
    values: list[float] = (metric_of(metric).factor * cell.values(run, metric, name, b)).tolist()
    return values

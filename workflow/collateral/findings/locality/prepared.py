"""What figure and chart of similarity are drawn from: one row a run, bin and seed."""

from __future__ import annotations

import pandas as pd

from collateral.findings._shared.compare import chance_by_sd
from collateral.findings._shared.scale import reach, sets_scale
from collateral.findings._shared.style import looks
from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable, mean

SETS = {"retain": "Retained examples", "test": "Test examples"}
MEASURES = {"delta_acc": "Accuracy", "delta_conf": "True-class confidence"}
NOISE_CAPTION = (
    "Grey: where 95 % of differences between retrainings lie; a line inside it is no finding."
)
LEAST_REACH = 5.0  # points on either side of zero, so that noise alone does not fill the panel
PLACE = ["set", "metric", "bin", "low", "high", "count", "chance"]


def prepared(cell: CellTable) -> pd.DataFrame:
    """Return the differences from the reference in points, and what chance explains in each bin."""
    rows = [
        (*place, run, seed, value)
        for place in _places(cell)
        for run in looks(cell)
        for seed, value in zip(cell.seeds, _points(cell, run, *place[:3]), strict=True)
    ]
    return pd.DataFrame(rows, columns=[*PLACE, "run", "seed", "value"])


def ends(cell: CellTable, found: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return the ends of each measure's axis, which both sets share."""
    sound = [run for run in looks(cell) if sets_scale(cell, run)] or list(looks(cell))
    means = found[found["run"].isin(sound)].groupby(["metric", "set", "bin", "run"])["value"].mean()
    least = (-LEAST_REACH, LEAST_REACH)
    return {metric: reach(means[metric], least) for metric in MEASURES}


def beyond_the_edge(cell: CellTable, drawn: str) -> str:
    """Name the runs that do not set the scale, and how they are drawn beyond it; empty for none."""
    lost = [cell.labels[run] for run in looks(cell) if not sets_scale(cell, run)]
    return f" Collapsed, {drawn} where beyond it: {', '.join(lost)}." if lost else ""


def _places(cell: CellTable) -> list[tuple[str, str, int, float, float, float, float]]:
    found = []
    for name in SETS:
        bins = cell.indices(cell.reference, "bin_low", name)
        lows = [cell.number(cell.reference, "bin_low", name, b) for b in bins]
        highs = [*lows[1:], *(cell.number(cell.reference, "bin_high", name, b) for b in bins[-1:])]
        for b, low, high in zip(bins, lows, highs, strict=True):
            count = mean(cell.values(cell.reference, "bin_count", name, b))
            for metric in MEASURES:
                chance = metric_of(metric).factor * chance_by_sd(cell, metric, name, b)
                found.append((name, metric, int(b), low, high, count, chance))
    return found


def _points(cell: CellTable, run: str, name: str, metric: str, b: int) -> list[float]:
    values: list[float] = (metric_of(metric).factor * cell.values(run, metric, name, b)).tolist()
    return values

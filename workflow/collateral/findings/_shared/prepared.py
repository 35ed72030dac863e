"""What figures of lines and their charts are drawn from: panels of runs, by place and by seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from collateral.contract.metrics import DIGITS
from collateral.findings._shared.compare import chance
from collateral.findings._shared.scale import rate_limits
from collateral.findings._shared.spoken import spoken
from collateral.findings._shared.statistics import Floats, half_width
from collateral.findings.catalogue import metric_of
from collateral.results.table import CellTable, mean

LEAST = 3  # values whose interval is drawn: that of two would hide all else
ROOM = 1.05  # of the largest number, where an axis begins at zero


@dataclass(frozen=True)
class Line:
    """A run in a panel, in the panel's unit; `own` is the place that a ring marks."""

    run: str
    label: str
    x: Sequence[float]
    values: Sequence[Floats]  # by place, each (seeds,)
    own: float = math.nan
    chance: Sequence[float] = ()  # by place, where the panel has not one for all
    is_aside: bool = False  # a control: dashed
    is_sample: bool = True  # its values are independent, so that there is an interval
    sets_scale: bool = True


@dataclass(frozen=True)
class Panel:
    """Lines of one number, Retrain's level, and how far other retrainings are from it."""

    title: str
    unit: str
    lines: list[Line] = field(default_factory=list)
    level: float = math.nan
    chance: float = math.nan

    @property
    def band(self) -> tuple[float, float]:
        """Where 95 % of other retrainings' means lie; no rate or divergence is below 0."""
        low, high = max(self.level - self.chance, 0.0), self.level + self.chance
        return (low, min(high, 100.0)) if self.unit == "%" else (low, high)


def level_of(cell: CellTable, metric: str) -> tuple[float, float]:
    """Return Retrain's mean, and how far 95 % of other retrainings' means are from it at most."""
    factor = metric_of(metric).factor
    return factor * mean(cell.values(cell.reference, metric)), factor * chance(cell, metric)


def averaged(panels: Sequence[Panel]) -> pd.DataFrame:
    """Return a row a panel, run and place: means over seeds."""
    return pd.DataFrame([row for panel in panels for row in _rows(panel)])


def limits(panel: Panel) -> tuple[float, float]:
    """Return the ends of a panel's axis: rates as they lie, all else from zero on."""
    lines = [line for line in panel.lines if line.sets_scale] or panel.lines
    means = [mean(values) for line in lines for values in line.values]
    known = [value for value in (*means, *panel.band, panel.level) if math.isfinite(value)]
    if not known:
        return 0.0, 1.0
    return rate_limits(min(known), max(known)) if panel.unit == "%" else (0.0, ROOM * max(known))


def _rows(panel: Panel) -> Iterator[dict[str, object]]:
    for line in panel.lines:
        chances = line.chance or [panel.chance] * len(line.x)
        marks = {"is_aside": True} if line.is_aside else {}
        for x, values, bound in zip(line.x, line.values, chances, strict=True):
            own = {"is_own": True} if x == line.own else {}
            of_run = {"panel": panel.title, "run": line.run, "label": line.label, "x": x}
            yield {**of_run, **_numbers(panel, line, values, bound), **marks, **own}


def _numbers(panel: Panel, line: Line, values: Floats, bound: float) -> dict[str, object]:
    """Return mean and interval, no further than the axis, and what is said of them."""
    middle, half = mean(values), half_width(values) if line.is_sample else math.nan
    ends = (middle - half, middle + half)
    drawn = np.clip((middle, *ends), *limits(panel)).tolist()
    unit = f" {panel.unit}" if panel.unit else ""
    n = int(np.count_nonzero(~np.isnan(values)))
    names = ("mean", "low", "high") if n >= LEAST else ("mean",)
    return {
        **dict(zip(names, drawn, strict=False)),
        **spoken(middle, ends, bound, f".{DIGITS.get(panel.unit, 2)}f", unit),
        "n": n,
    }

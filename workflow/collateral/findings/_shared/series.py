"""From the long table to series of a plot: means over seeds, 95 % intervals, looks, levels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from collateral.findings._shared.compare import noise_floor
from collateral.findings._shared.statistics import Floats, interval_half_width
from collateral.findings.metric_index import find_metric
from collateral.plots.plot import Axis, Band, Level, Limits, Panel, Series
from collateral.plots.style import GREY, Look, control_look, method_look
from collateral.results.table import CellTable, mean

NOISE_LABEL = "Retrain vs. Retrain (95 %)"
COLLAPSED = 0.0  # the first of the verdicts, as the long table has it
LEAST_SEEDS = 3  # of an interval that is drawn: one of two values would hide everything else


def find_looks(cell: CellTable) -> dict[str, Look]:
    """Return the look of each run to draw: methods, then controls, if one of its seeds is sound."""
    methods = {run: find_look(cell, run) for run in cell.runs("method")}
    controls = {run: control_look(place) for place, run in enumerate(cell.runs("control"))}
    return {run: look for run, look in {**methods, **controls}.items() if not cell.has_failed(run)}


def find_look(cell: CellTable, method: str) -> Look:
    """Return the look of a method by its place in the config, the same in every cell."""
    return method_look([run for run in cell.benchmark.labels if "@" not in run].index(method))


def average_seeds(
    cell: CellTable, run: str, x: Sequence[float], values: Iterable[Floats], **more: Any
) -> Series:
    """Return a run's series from its values at each place, (seeds,) each, in the panel's unit."""
    values = list(values)
    counts = [int(np.count_nonzero(~np.isnan(v))) for v in values]
    means = [mean(v) for v in values]
    halves = [
        interval_half_width(v) if count >= LEAST_SEEDS else math.nan
        for v, count in zip(values, counts, strict=True)
    ]
    options = {
        "label": cell.labels.get(run, run),
        "look": more.get("look") or find_looks(cell)[run],
        "run": run,
        "n": counts,
        "sets_scale": sets_scale(cell, run),
        **more,
    }
    low, high = ([m + sign * h for m, h in zip(means, halves, strict=True)] for sign in (-1, 1))
    return Series(x=list(x), y=means, low=low, high=high, **options)


def sets_scale(cell: CellTable, run: str) -> bool:
    """Tell whether a run is sound; the scale of one that collapsed would squeeze all others."""
    return not cell.failure_summary(run) and cell.number(run, "verdict") != COLLAPSED


def find_level(cell: CellTable, metric: str) -> tuple[float, float]:
    """Return Retrain's mean and the half-width of the noise floor around it, as displayed."""
    factor = find_metric(metric).factor
    return factor * mean(cell.values(cell.reference, metric)), factor * noise_floor(cell, metric)


def mark_level(cell: CellTable, metric: str) -> tuple[list[Level], list[Band]]:
    """Return Retrain's level as a dashed line, and the noise floor around it as a band."""
    level, noise = find_level(cell, metric)
    lines = [Level(level, dash="dashed", label=cell.labels[cell.reference])]
    if not math.isfinite(level + noise):
        return lines, []
    # No rate is below 0 or above 100.
    is_rate = find_metric(metric).unit == "%"
    low, high = max(level - noise, 0.0), level + noise
    return lines, [Band(low=low, high=min(high, 100.0) if is_rate else high, label=NOISE_LABEL)]


def describe_failures(cell: CellTable) -> Iterator[str]:
    """Yield a note for each run that diverged, collapsed or was skipped in some seed."""
    for run, label in cell.labels.items():
        if cell.failure_summary(run):
            not_drawn = ": not drawn" if cell.has_failed(run) else ""
            yield f"{label} {cell.failure_summary(run)}{not_drawn}."


def describe_seeds(cell: CellTable) -> str:
    """Return how many seeds the intervals of a plot are over."""
    return describe_intervals(len(cell.seeds), "seeds") if len(cell.seeds) > 1 else "One seed."


def describe_intervals(count: int, what: str) -> str:
    """Return what the intervals of a plot are over, if there are enough to draw them."""
    if count < LEAST_SEEDS:
        return f"Means over {count} {what}; intervals are drawn from {LEAST_SEEDS} {what} on."
    return f"Intervals: 95 %, over {count} {what}."


def count_examples(
    centres: Sequence[float], counts: Sequence[float], ends: Limits, least: float, title: str
) -> Panel:
    """Return a low panel: the number of examples in each bin of similarity, as bars."""
    most = max(counts)
    ticks = {10.0**power: f"{10**power:g}" for power in range(5) if 10**power <= 2 * most}
    y = Axis(title, "log", limits=(least, 2 * most), ticks=ticks)
    bars = Series("", Look(GREY), centres, counts, mark="bar")
    x = Axis("Similarity to the forget set", limits=ends)
    return Panel([bars], x=x, y=y, height=0.28, value_name="examples", number_format=".0f")

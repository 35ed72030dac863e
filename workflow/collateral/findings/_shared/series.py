"""Make the series of plots from the long table: means over seeds, 95 % intervals, colours."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from collateral.findings._shared.compare import noise_floor_of_gap
from collateral.findings.metric_index import find_metric
from collateral.findings.verdict import COLLAPSED
from collateral.metrics.statistics import Floats, interval_half_width, mean
from collateral.plots.plot import Axis, Band, Level, Limits, Panel, Plot, Series, fit_rates
from collateral.plots.style import GREY, Look, control_look, method_look
from collateral.results.layout import is_sweep
from collateral.results.table import CellTable

NOISE_LABEL = "Retrain vs. Retrain (95 %)"
LEAST_SEEDS = 3  # minimum number of seeds for an interval; an interval of two seeds is too wide
LEAST_JOINED = 3  # minimum number of values for drawing a line through them


def find_looks(cell: CellTable) -> dict[str, Look]:
    """Return colour and marker of each method and control; skip runs that failed in all seeds."""
    methods = {run: find_look(cell, run) for run in cell.runs("method")}
    controls = {run: control_look(place) for place, run in enumerate(cell.runs("control"))}
    return {run: look for run, look in {**methods, **controls}.items() if not cell.has_failed(run)}


def find_look(cell: CellTable, method: str) -> Look:
    """Return a method's colour and marker, which are the same in all cells of a benchmark."""
    return method_look([run for run in cell.benchmark.labels if not is_sweep(run)].index(method))


def average_seeds(
    cell: CellTable, run: str, x: Sequence[float], values: Iterable[Floats], **more: Any
) -> Series:
    """Return the plot series of a run: at each x, the mean over seeds and its 95 % interval.

    `values` has one array per x, with one value per seed.
    """
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
        **({} if len(values) >= LEAST_JOINED else {"mark": "point", "areas": [25.0] * len(values)}),
        **more,
    }
    low, high = ([m + sign * h for m, h in zip(means, halves, strict=True)] for sign in (-1, 1))
    return Series(x=list(x), y=means, low=low, high=high, **options)


def sets_scale(cell: CellTable, run: str) -> bool:
    """Tell whether axis limits are fitted to a run.

    They are not if a seed of the run failed, or if the verdict is that the run collapsed.
    """
    return not cell.failure_summary(run) and math.isnan(cell.number(run, "verdict", at=COLLAPSED))


def with_level(panel: Panel, cell: CellTable, metric: str) -> Panel:
    """Return a panel of rates, with a dashed line at the reference's rate and a grey noise band.

    The vertical axis is fitted to the line and the band. The series of runs get the noise floor.
    """
    factor = find_metric(metric).factor
    level = factor * mean(cell.values(cell.reference, metric))
    noise = factor * noise_floor_of_gap(cell, metric)
    # A rate is between 0 and 100 %, so the band is cut at these values.
    band = Band(low=max(level - noise, 0.0), high=min(level + noise, 100.0), label=NOISE_LABEL)
    panel = replace(
        panel,
        series=[replace(s, noise=[noise] * len(s.x)) if s.run else s for s in panel.series],
        levels=[*panel.levels, Level(level, dash="dashed", label=cell.labels[cell.reference])],
        bands=[*panel.bands, *([band] if math.isfinite(level + noise) else [])],
        message="undefined" if math.isnan(level) else "",
        unit=" %",
    )
    return replace(panel, y=replace(panel.y, limits=fit_rates(panel)))


def describe_failures(cell: CellTable) -> Iterator[str]:
    """Yield a note for each run that diverged, collapsed or was skipped in some seed."""
    for run, label in cell.labels.items():
        if cell.failure_summary(run):
            not_drawn = ": not drawn" if cell.has_failed(run) else ""
            yield f"{label} {cell.failure_summary(run)}{not_drawn}."


def describe_seeds(cell: CellTable) -> str:
    """Return a sentence with the number of seeds of a plot and the kind of its intervals."""
    return describe_intervals(len(cell.seeds), "seed")


def describe_intervals(count: int, unit: str) -> str:
    """Return a sentence that explains the intervals of a plot, or why no intervals are drawn.

    `unit` is what the intervals are computed over: "seed" or "cell".
    """
    if count == 1:
        return f"One {unit}."
    if count < LEAST_SEEDS:
        return f"Means over {count} {unit}s; intervals are drawn from {LEAST_SEEDS} {unit}s on."
    return f"Intervals: 95 %, over {count} {unit}s."


def plot_cell(
    cell: CellTable,
    name: str,
    panels: Sequence[Panel],
    caption: str,
    subject: str = "",
    reading: str = "",
    **more: Any,
) -> Plot:
    """Return a plot of a cell; its notes say how to read it, how many seeds it has, what failed."""
    title = f"{cell.title}: {subject}" if subject else cell.title
    notes = [f"{reading} {describe_seeds(cell)}".strip(), *describe_failures(cell)]
    return Plot(name, title, caption, panels, notes=notes, **more)


def bin_edges(cell: CellTable, subset: str) -> Floats:
    """Return the edges of the similarity bins of a subset, in ascending order."""
    reference, bins = cell.reference, cell.indices(cell.reference, "bin_low", subset)
    lows = [cell.number(reference, "bin_low", subset, b) for b in bins]
    return np.array([*lows, cell.number(reference, "bin_high", subset, bins[-1])])


def count_examples(
    centres: Floats, counts: Sequence[float], ends: Limits, least: float, title: str
) -> Panel:
    """Return a panel of small height whose bars are the numbers of examples per similarity bin."""
    most = max(counts)
    ticks = {10.0**power: f"{10**power:g}" for power in range(5) if 10**power <= 2 * most}
    y = Axis(title, "log", limits=(least, 2 * most), ticks=ticks)
    bars = Series("", Look(GREY), centres.tolist(), counts, mark="bar")
    x = Axis("Similarity to the forget set", limits=ends)
    return Panel([bars], x=x, y=y, height=0.28, value_name="examples", number_format=".0f")

"""Ablations with numbers: what a run measures as a function of the parameter that is varied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, MaxNLocator
from numpy.typing import NDArray

from collateral.findings._shared.panels import BAND, draw_level, draw_line, fit_rates
from collateral.findings._shared.style import WIDTH, annotate, look_of, style
from collateral.findings.catalogue import METRICS
from collateral.findings._shared.compare import AFFECTED, COUNTERPARTS, MAIN
from collateral.results.table import Cell, Runs, mean
from collateral.findings.sweeps.table import REPORTED, Sweep

# The numbers of each figure. One that no run reports, or that all values share (a teacher's, where
# the student is varied), is left out, and so is an empty figure.
KINDS = {
    "standard": MAIN.metrics,
    "affected": AFFECTED.metrics,
    "teacher_accuracy": tuple(COUNTERPARTS),
    "teacher_epochs": ("teacher_epochs",),
}
LEVELS = (
    "Dashed: Retrain. Bands: standard error over seeds. Grey: where 95 % of other retrainings' "
    "means lie; a line inside it is no finding. The ring marks the value that the method has "
    "everywhere else. The panels' scales differ."
)
CAPTIONS = {
    "standard": f"UA, RA, TA and MIA over {{key}} of {{method}}. {LEVELS}",
    "affected": f"RA, UA and TA of the affected class over {{key}} of {{method}}. {LEVELS}",
    "teacher_accuracy": "Accuracy on the forget set of the labels that {method} teaches, over "
    f"{{key}}; dashed: Retrain's UA, which they stand for. {LEVELS}",
    "teacher_epochs": "Epochs until the teacher of {method} was done, over {key}. Bands: standard "
    "error over seeds. The ring marks the value that the method has everywhere else.",
}
DECADE = 10.0  # values that span more have a logarithmic axis
PANEL = 2.4  # inches


def captions(sweep: Sweep) -> dict[str, str]:
    """Return the caption of each figure of a sweep, by the figure's name."""
    words = {"key": sweep.key, "method": sweep.method}
    return {figure_name(sweep, kind): text.format(**words) for kind, text in CAPTIONS.items()}


def figure_name(sweep: Sweep, kind: str) -> str:
    """Return the name of a figure, that of its file."""
    return f"sweep-{sweep.name}-{kind}"


def draw_all(cell: Cell, sweep: Sweep, runs: Runs) -> dict[str, Figure]:
    """Return the figures of a sweep by name, `cell` being the sweep's; none without numbers."""
    if len(sweep.numbers) < 2:
        return {}
    reported = [name for name in REPORTED if _is_known(cell, sweep, name)]
    # A parameter that changes nothing of what the method reports leaves its teacher as it is.
    if not any(_varies(cell, sweep, name) for name in reported):
        reported = []
    kept = {
        kind: [name for name in names if name not in REPORTED or name in reported]
        for kind, names in KINDS.items()
    }
    return {
        figure_name(sweep, kind): _draw(cell, sweep, runs, metrics)
        for kind, metrics in kept.items()
        if metrics
    }


def _is_known(cell: Cell, sweep: Sweep, metric: str) -> bool:
    return len(_known(cell, sweep, metric)) > 1


def _varies(cell: Cell, sweep: Sweep, metric: str) -> bool:
    return bool(np.ptp(_known(cell, sweep, metric), axis=0).any())


def _known(cell: Cell, sweep: Sweep, metric: str) -> NDArray[np.float64]:
    """Return the values (run, seed) of those runs that have them all."""
    values = np.array([cell.values(run, metric) for run in sweep.numbers])
    return values[~np.isnan(values).any(axis=1)]


def _draw(cell: Cell, sweep: Sweep, runs: Runs, metrics: Sequence[str]) -> Figure:
    with style():
        width = WIDTH if len(metrics) > 1 else 0.7 * WIDTH
        fig = Figure(figsize=(width, PANEL), layout="constrained")
        axes = fig.subplots(1, len(metrics), squeeze=False)[0]
        for panel, metric in zip(axes, metrics, strict=True):
            _draw_panel(panel, cell, sweep, runs, metric)
        reading = "Dashed: Retrain." if METRICS[metrics[0]].unit == "%" else ""
        annotate(fig, axes[0], cell, reading, BAND, title=f"{sweep.method}, {sweep.key} varied")
    return fig


def _draw_panel(axes: Axes, cell: Cell, sweep: Sweep, runs: Runs, metric: str) -> None:
    look, factor = look_of(sweep.own, runs), METRICS[metric].factor
    drawn = sorted(
        (run for run in sweep.numbers if not cell.failed(run)), key=lambda run: sweep.numbers[run]
    )
    x = [sweep.numbers[run] for run in drawn]
    values = [factor * cell.values(run, metric) for run in drawn]
    axes.grid(axis="y")
    axes.margins(x=0.08)
    draw_line(axes, x, values, look, sweep.method)
    if sweep.own in drawn:
        place = drawn.index(sweep.own)
        (ring,) = axes.plot(x[place], mean(values[place]), "o", label="own value", markersize=9)
        ring.set(markerfacecolor="none", markeredgecolor=look.colour, clip_on=False)
    if factor == 100:
        draw_level(axes, cell, COUNTERPARTS.get(metric, metric))
        fit_rates(axes)
    else:
        axes.set_ylim(bottom=0)
    _scale_across(axes, x)
    axes.set_title(METRICS[metric].label + (" (%)" if factor == 100 else ""))
    axes.set_xlabel(sweep.key)


def _scale_across(axes: Axes, x: Sequence[float]) -> None:
    if x and min(x) > 0 and max(x) >= DECADE * min(x):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(LogFormatter())
        axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))

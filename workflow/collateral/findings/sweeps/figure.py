"""Ablations with numbers: what a run measures as a function of the parameter that is varied."""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter
from numpy.typing import NDArray

from collateral.contract.pictures import Picture
from collateral.findings._shared.compare import COUNTERPARTS
from collateral.findings._shared.panels import BARS, TICKS, ZERO, draw_level, draw_line, fit_rates
from collateral.findings._shared.style import WIDTH, annotate, look_of, style
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.findings.reported import METRICS as REPORTED
from collateral.findings.sweeps.noise import NAME, SEED, Noise, noises
from collateral.results.plan import Sweep
from collateral.results.table import CellTable, mean

# The numbers of each figure. One that no run reports, or that all values share (a teacher's, where
# the student is varied), is left out, and so is an empty figure.
KINDS = {
    "standard": TERMS["avg_gap"],
    "affected": TERMS["avg_gap_affected"],
    "teacher_accuracy": tuple(COUNTERPARTS),
    "teacher_epochs": ("teacher_epochs",),
}
RING = "The ring marks the value that the method has everywhere else."
SPREAD = "Error bars: standard error over seeds."
LEVELS = (
    f"Dashed: Retrain. {SPREAD} Grey: where 95 % of other retrainings' means lie; a line inside it "
    f"is no finding. {RING} The panels' scales differ."
)
CAPTIONS = {
    "standard": f"UA, RA, TA and MIA over {{key}} of {{method}}. {LEVELS}",
    "affected": f"RA, UA and TA of the affected classes over {{key}} of {{method}}. {LEVELS}",
    "teacher_accuracy": "Accuracy on the forget set of the labels that {method} teaches, over "
    f"{{key}}, held against Retrain's UA. {LEVELS}",
    "teacher_epochs": f"Epochs until {{method}}'s teacher was done, over {{key}}. {SPREAD} {RING}",
}
NOISE = (
    "UA of students over that of their teachers, which differ in `teacher_seed` alone; a point a "
    "teacher and seed. On the thin line a student has its teacher's UA. Dashed: Retrain; grey: "
    "where 95 % of other retrainings' means lie."
)
DECADE = 10.0  # values that span more have a logarithmic axis
PANEL = 2.4  # inches


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the figures of every sweep of numbers, and one of teachers of other seeds."""
    for sweep in cell.plan.sweeps:
        if sweep.key == SEED:  # a name rather than a number
            continue
        swept = cell.with_labels(sweep.rows)
        words = {"key": sweep.key, "method": sweep.method}
        for kind, metrics in _metrics(swept, sweep).items():
            caption = CAPTIONS[kind].format(**words)
            yield Picture(f"sweep-{sweep.name}-{kind}", draw(swept, sweep, metrics), caption)
    if found := noises(cell):
        yield Picture(NAME, draw_noise(cell, found), NOISE)


def _metrics(cell: CellTable, sweep: Sweep) -> dict[str, list[str]]:
    """Return what there is to draw, by kind of figure; nothing for fewer than two numbers."""
    if len(sweep.numbers) < 2:
        return {}
    reported = [name for name in REPORTED if len(_known(cell, sweep, name)) > 1]
    # A parameter that changes nothing of what the method reports leaves its teacher as it is.
    if not any(np.ptp(_known(cell, sweep, name), axis=0).any() for name in reported):
        reported = []
    kept = {
        kind: [name for name in names if name not in REPORTED or name in reported]
        for kind, names in KINDS.items()
    }
    return {kind: names for kind, names in kept.items() if names}


def _known(cell: CellTable, sweep: Sweep, metric: str) -> NDArray[np.float64]:
    """Return the values (run, seed) of those runs that have them all."""
    values = [cell.values(run, metric) for run in sweep.numbers]
    return np.array([of_run for of_run in values if not np.isnan(of_run).any()])


@style()
def draw(cell: CellTable, sweep: Sweep, metrics: Sequence[str]) -> Figure:
    """Draw a panel a metric; `cell` has the sweep's runs."""
    width = WIDTH if len(metrics) > 1 else 0.7 * WIDTH
    fig = Figure(figsize=(width, PANEL), layout="constrained")
    axes = fig.subplots(1, len(metrics), squeeze=False)[0]
    for panel, metric in zip(axes, metrics, strict=True):
        _draw_panel(panel, cell, sweep, metric)
    reading = "Dashed: Retrain." if metric_of(metrics[0]).unit == "%" else ""
    annotate(fig, axes[0], cell, reading, title=f"{sweep.method}, {sweep.key} varied")
    return fig


def _draw_panel(axes: Axes, cell: CellTable, sweep: Sweep, metric: str) -> None:
    look, shown = look_of(cell, sweep.own), metric_of(metric)
    drawn = sorted(
        (run for run in sweep.numbers if not cell.failed(run)), key=lambda run: sweep.numbers[run]
    )
    x = [sweep.numbers[run] for run in drawn]
    values = [shown.factor * cell.values(run, metric) for run in drawn]
    axes.grid(axis="y")
    axes.margins(x=0.08)
    draw_line(axes, x, values, look, sweep.method, BARS)
    if sweep.own in drawn:
        place = drawn.index(sweep.own)
        (ring,) = axes.plot(x[place], mean(values[place]), "o", label="own value", markersize=9)
        ring.set(markerfacecolor="none", markeredgecolor=look.colour, clip_on=False)
    if shown.unit == "%":
        draw_level(axes, cell, COUNTERPARTS.get(metric, metric))
        fit_rates(axes)
    else:
        axes.set_ylim(bottom=0)
    _scale_across(axes, x)
    axes.set_title(shown.heading)
    axes.set_xlabel(sweep.key)


def _scale_across(axes: Axes, x: Sequence[float]) -> None:
    if x and min(x) > 0 and max(x) >= DECADE * min(x):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(LogFormatter())
        axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    else:
        axes.xaxis.set_major_locator(TICKS)


@style()
def draw_noise(cell: CellTable, found: Sequence[Noise]) -> Figure:
    """Draw each method's students over their teachers."""
    fig = Figure(figsize=(0.7 * WIDTH, 1.5 * PANEL), layout="constrained")
    axes, factor = fig.subplots(), metric_of("ua").factor
    for noise in found:
        look = look_of(cell, noise.sweep.own)
        points = {**look.of_line, "linestyle": "none", "label": noise.sweep.method}
        axes.plot(factor * noise.teacher.ravel(), factor * noise.student.ravel(), **points)
    draw_level(axes, cell, "ua")
    fit_rates(axes)
    width = axes.get_xlim()
    axes.plot(width, width, scaley=False, **ZERO)
    axes.set_xlim(width)
    axes.set_xlabel(metric_of("teacher_ua").heading)
    axes.set_ylabel(metric_of("ua").heading)
    reading = "On the thin line a student has its teacher's UA. Dashed: Retrain."
    annotate(fig, axes, cell, reading, "Points: teachers,", title="the teacher's luck")
    return fig

"""Ablations with numbers: what a run measures as a function of the parameter that is varied."""

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import BARS, TICKS, ZERO, draw_level, draw_line, fit_rates
from collateral.findings._shared.prepared import Panel, level_of
from collateral.findings._shared.style import WIDTH, Look, annotate, look_of, style
from collateral.findings.catalogue import metric_of
from collateral.findings.sweeps.noise import NAME, Noise, noises
from collateral.findings.sweeps.prepared import NOISE, Swept, swept_in
from collateral.results.table import CellTable, mean

SPREAD = "Error bars: standard error over seeds."
PANEL = 2.4  # inches


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the figures of every sweep of numbers, and one of teachers of other seeds."""
    for swept in swept_in(cell):
        yield Picture(swept.name, draw(swept), swept.caption(SPREAD))
    if found := noises(cell):
        yield Picture(NAME, draw_noise(cell, found), NOISE)


@style()
def draw(swept: Swept) -> Figure:
    """Draw a panel a metric."""
    cell, sweep, found = swept.cell, swept.sweep, swept.panels
    width = WIDTH if len(found) > 1 else 0.7 * WIDTH
    fig = Figure(figsize=(width, PANEL), layout="constrained")
    axes = fig.subplots(1, len(found), squeeze=False)[0]
    for place, panel in zip(axes, found, strict=True):
        _draw_panel(place, panel, look_of(cell, sweep.own))
        _scale_across(place, swept)
        place.set_xlabel(sweep.key)
    reading = "Dashed: Retrain." if found[0].unit == "%" else ""
    annotate(fig, axes[0], cell, reading, title=f"{sweep.method}, {sweep.key} varied")
    return fig


def _draw_panel(axes: Axes, panel: Panel, look: Look) -> None:
    [line] = panel.lines
    axes.grid(axis="y")
    axes.margins(x=0.08)
    draw_line(axes, line.x, line.values, look, line.label, BARS)
    if line.own in line.x:
        height = mean(line.values[list(line.x).index(line.own)])
        (ring,) = axes.plot(line.own, height, "o", label="own value", markersize=9)
        ring.set(markerfacecolor="none", markeredgecolor=look.colour, clip_on=False)
    if panel.unit == "%":
        draw_level(axes, panel.level, panel.chance)
        fit_rates(axes)
    else:
        axes.set_ylim(bottom=0)
    axes.set_title(panel.title)


def _scale_across(axes: Axes, swept: Swept) -> None:
    if swept.is_log:
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
    draw_level(axes, *level_of(cell, "ua"))
    fit_rates(axes)
    width = axes.get_xlim()
    axes.plot(width, width, scaley=False, **ZERO)
    axes.set_xlim(width)
    axes.set_xlabel(metric_of("teacher_ua").heading)
    axes.set_ylabel(metric_of("ua").heading)
    reading = "On the thin line a student has its teacher's UA. Dashed: Retrain."
    annotate(fig, axes, cell, reading, "Points: teachers,", title="the teacher's luck")
    return fig

"""The course of unlearning: accuracies after every epoch of the methods that are tracked."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from collateral.results.record import TRACKED
from collateral.findings._shared.panels import BAND, draw_level, draw_line, fit_rates
from collateral.findings._shared.style import WIDTH, Look, annotate, looks, style
from collateral.findings.catalogue import METRICS
from collateral.results.table import Cell, Runs

METRIC_NAMES = (("ra", "ua", "ta"), ("ra_affected", "ua_affected", "ta_affected"))
CAPTION = (
    "Accuracy after every epoch of a method's own training: on all examples above, on the affected "
    "class below. Epoch 0: the base model. Dashed: Retrain. Bands: standard error over seeds. "
    "Grey: where 95 % of other retrainings' means lie. The panels' scales differ."
)


def tracked_runs(cell: Cell) -> list[str]:
    """Return the runs that were measured after every epoch."""
    return [run for run in cell.labels if (run, f"{TRACKED}ua:00") in cell.by_seed.index]


def draw(cell: Cell, runs: Runs) -> Figure:
    """Draw RA, UA and TA of all examples, and below of the affected class."""
    drawn = {run: look for run, look in looks(cell, runs).items() if run in tracked_runs(cell)}
    with style():
        fig = Figure(figsize=(WIDTH, 4.1), layout="constrained")
        grid = fig.subplots(2, 3, sharex=True)
        for axes, metric in zip(grid.flat, sum(METRIC_NAMES, ()), strict=True):
            _draw_panel(axes, cell, metric, drawn)
        for axes in grid[1]:
            axes.set_xlabel("Epoch")
        annotate(
            fig, grid[0, 0], cell, "Epoch 0: the base model. Dashed: Retrain.", BAND, "by epoch"
        )
    return fig


def _draw_panel(axes: Axes, cell: Cell, metric: str, drawn: dict[str, Look]) -> None:
    axes.grid(axis="y")
    for run, look in drawn.items():
        names = _epochs(cell, run, metric)
        values = [100 * cell.values(run, name) for name in names]
        draw_line(axes, range(len(names)), values, look, cell.labels[run])
    draw_level(axes, cell, metric)
    fit_rates(axes)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_title(f"{METRICS[metric].label} (%)")


def _epochs(cell: Cell, run: str, metric: str) -> list[str]:
    """Return the names of a metric after each epoch, in order."""
    family = f"{TRACKED}{metric}:"
    names = [name for r, name in cell.by_seed.index if r == run and name.startswith(family)]
    return sorted(names, key=lambda name: int(name.removeprefix(family)))

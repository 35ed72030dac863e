"""The course of unlearning: accuracies after every epoch of the runs that are tracked."""

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from collateral.contract.pictures import Picture
from collateral.contract.tracking import TRACKED
from collateral.findings._shared.captions import joined
from collateral.findings._shared.panels import BAND, BAND_NOTE, draw_level, draw_line, fit_rates
from collateral.findings._shared.style import WIDTH, Look, annotate, looks, style
from collateral.findings.catalogue import metric_of
from collateral.findings.gap import TERMS
from collateral.results.table import CellTable

ROWS = (("ra", "ua", "ta"), TERMS["avg_gap_affected"])
CAPTION = (
    "Accuracy after every epoch of a method's own training: on all examples above, on the affected "
    "classes below. Epoch 0: the base model. Dashed: Retrain. Bands: standard error over seeds. "
    "The panels' scales differ."
)
NOISE_CAPTION = "Grey: where 95 % of other retrainings' means lie."


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the course of unlearning, where a run is tracked."""
    if tracked := {run: look for run, look in looks(cell).items() if _epochs(cell, run, "ua")}:
        noise = NOISE_CAPTION if cell.has_retrain else ""
        yield Picture("epochs", draw(cell, tracked), joined(cell.said(CAPTION), noise))


def _epochs(cell: CellTable, run: str, metric: str) -> list[str]:
    return cell.indices(run, f"{TRACKED}{metric}")


@style()
def draw(cell: CellTable, tracked: dict[str, Look]) -> Figure:
    """Draw RA, UA and TA of all examples, and below of the affected classes."""
    fig = Figure(figsize=(WIDTH, 4.1), layout="constrained")
    grid = fig.subplots(2, 3, sharex=True)
    for axes, metric in zip(grid.flat, sum(ROWS, ()), strict=True):
        _draw_panel(axes, cell, metric, tracked)
    for axes in grid[1]:
        axes.set_xlabel("Epoch")
    reading = "Epoch 0: the base model. Dashed: Retrain."
    annotate(fig, grid[0, 0], cell, cell.said(reading), BAND_NOTE, "by epoch")
    return fig


def _draw_panel(axes: Axes, cell: CellTable, metric: str, tracked: dict[str, Look]) -> None:
    axes.grid(axis="y")
    shown = metric_of(metric)
    for run, look in tracked.items():
        epochs = _epochs(cell, run, metric)
        rates = [cell.values(run, f"{TRACKED}{metric}", at=epoch) for epoch in epochs]
        values = [shown.factor * of_epoch for of_epoch in rates]
        draw_line(axes, [int(epoch) for epoch in epochs], values, look, cell.labels[run], BAND)
    draw_level(axes, cell, metric)
    fit_rates(axes)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_title(shown.heading)

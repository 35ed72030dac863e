"""The course of unlearning: accuracies after every epoch of the runs that are tracked."""

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import BAND, BAND_NOTE, draw_level, draw_line, fit_rates
from collateral.findings._shared.prepared import Panel
from collateral.findings._shared.style import WIDTH, Look, annotate, looks, style
from collateral.findings.epochs.prepared import caption, panels, tracked
from collateral.results.table import CellTable

SPREAD = "Bands: standard error over seeds."


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield the course of unlearning, where a run is tracked."""
    if tracked(cell, list(looks(cell))):
        yield Picture("epochs", draw(cell), caption(cell, SPREAD))


@style()
def draw(cell: CellTable) -> Figure:
    """Draw RA, UA and TA of all examples, and below of the affected classes."""
    fig = Figure(figsize=(WIDTH, 4.1), layout="constrained")
    grid = fig.subplots(2, 3, sharex=True)
    known = looks(cell)
    found = panels(cell, tracked(cell, list(known)))
    for axes, panel in zip(grid.flat, found, strict=True):
        _draw_panel(axes, panel, known, cell.labels[cell.reference])
    for axes in grid[1]:
        axes.set_xlabel("Epoch")
    reading = cell.said("Epoch 0: the base model. Dashed: Retrain.")
    annotate(fig, grid[0, 0], cell, reading, BAND_NOTE, "by epoch")
    return fig


def _draw_panel(axes: Axes, panel: Panel, known: dict[str, Look], reference: str) -> None:
    axes.grid(axis="y")
    for line in panel.lines:
        draw_line(axes, line.x, line.values, known[line.run], line.label, BAND)
    draw_level(axes, panel.level, panel.chance, reference)
    fit_rates(axes)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_title(panel.title)

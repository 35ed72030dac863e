"""The difference from Retrain, from far to near, over all cells: a line a method."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import BARS, draw_line
from collateral.findings._shared.style import (
    GREY,
    WIDTH,
    Look,
    look_of,
    put_legend,
    put_notes,
    style,
)
from collateral.findings.catalogue import metric_of
from collateral.findings.localization import NEAREST, SETS
from collateral.findings.localization.numbers import sound_cells
from collateral.results.table import REFERENCE, BenchmarkTable, CellTable, mean

TITLES = {"retain": "Retained examples", "test": "Test examples"}
CAPTION = (
    "Mean |difference| of the true-class confidence from Retrain's, by rank of similarity to the "
    "forget set: left all but the nearer half, right the nearest 1 %. A line a method, the mean "
    "over cells; bars: standard error over cells (over seeds, where there is one cell; Retrain's "
    "pairs share retrainings, and then have none). Dashed: Retrain against Retrain of the next "
    "seed."
)
READING = "A line that rises to the right: what is near the forget set changes more."
FLOOR = Look(GREY, "", "--", control=True)


def figures(cell: CellTable) -> Iterator[Picture]:
    """Yield nothing: the lines of a cell are drawn by similarity itself."""
    yield from ()


def figures_across(table: BenchmarkTable) -> Iterator[Picture]:
    """Yield the figure over all cells, where there are numbers."""
    if any(cell.indices(REFERENCE, "nearest_difference", "retain") for cell in table.cells):
        yield Picture("localization", draw(table), CAPTION)


@style()
def draw(table: BenchmarkTable) -> Figure:
    """Draw retained beside test examples."""
    fig = Figure(figsize=(WIDTH, 3.3), layout="constrained")
    panels = fig.subplots(1, 2, sharey=True)
    for axes, name in zip(panels, SETS, strict=True):
        _draw_panel(axes, table, name)
        axes.set_title(TITLES[name])
        axes.set_xlabel("Nearest share of the set")
    panels[0].set_ylabel("|Difference| of confidence (points)")
    several = len(table.cells) > 1
    put_legend(fig, panels[0], f"All {len(table.cells)} cells" if several else table.cells[0].title)
    put_notes(fig, f"{READING} Bars: standard error over {'cells' if several else 'seeds'}.")
    return fig


def _draw_panel(axes: Axes, table: BenchmarkTable, name: str) -> None:
    axes.grid(axis="y")
    runs = dict.fromkeys(run for cell in table.cells for run in cell.runs("method"))
    for run in runs:
        if cells := sound_cells(table, run):
            label = table.plan.labels[run]
            _draw_run(axes, cells, run, name, look_of(cells[0], run), label)
    _draw_run(axes, list(table.cells), REFERENCE, name, FLOOR, "Retrain, next seed")
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_xticks(NEAREST, [f"{share} %" for share in NEAREST])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=0)


def _draw_run(
    axes: Axes, cells: list[CellTable], run: str, name: str, look: Look, label: str
) -> None:
    factor, metric = metric_of("nearest_difference").factor, "nearest_difference"
    by_place = []
    for share in reversed(NEAREST):
        of_cells = [cell.values(run, metric, name, share) for cell in cells]
        by_place.append(of_cells[0] if len(cells) == 1 else np.array([mean(v) for v in of_cells]))
    values = [factor * found for found in by_place]
    if not all(np.isnan(found).all() for found in values):
        is_sample = len(cells) > 1 or run != REFERENCE
        spread = BARS if is_sample else {"errorbar": None}
        draw_line(axes, list(reversed(NEAREST)), values, look, label, spread)

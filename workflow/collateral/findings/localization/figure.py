"""The difference from Retrain, from far to near, over all cells: a line a method."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from collateral.contract.pictures import Picture
from collateral.findings._shared.panels import BARS, draw_line
from collateral.findings._shared.prepared import Panel
from collateral.findings._shared.style import (
    GREY,
    WIDTH,
    Look,
    look_of,
    put_legend,
    put_notes,
    style,
)
from collateral.findings.localization import NEAREST
from collateral.findings.localization.prepared import CAPTION, is_known, panels
from collateral.results.table import BenchmarkTable

SPREAD = "bars: standard error"
READING = "A line that rises to the right: what is near the forget set changes more."
FLOOR = Look(GREY, "", "--", control=True)


def figures_across(table: BenchmarkTable) -> Iterator[Picture]:
    """Yield the figure over all cells, where there are numbers."""
    if is_known(table):
        yield Picture("localization", draw(table), CAPTION.format(spread=SPREAD))


@style()
def draw(table: BenchmarkTable) -> Figure:
    """Draw retained beside test examples."""
    fig = Figure(figsize=(WIDTH, 3.3), layout="constrained")
    both = fig.subplots(1, 2, sharey=True)
    for axes, panel in zip(both, panels(table), strict=True):
        _draw_panel(axes, table, panel)
        axes.set_title(panel.title)
        axes.set_xlabel("Nearest share of the set")
    both[0].set_ylabel("|Difference| of confidence (points)")
    several = len(table.cells) > 1
    put_legend(fig, both[0], f"All {len(table.cells)} cells" if several else table.cells[0].title)
    put_notes(fig, f"{READING} Bars: standard error over {'cells' if several else 'seeds'}.")
    return fig


def _draw_panel(axes: Axes, table: BenchmarkTable, panel: Panel) -> None:
    axes.grid(axis="y")
    for line in panel.lines:
        look = FLOOR if line.is_aside else look_of(table.cells[0], line.run)
        spread = BARS if line.is_sample else {"errorbar": None}
        draw_line(axes, line.x, line.values, look, line.label, spread)
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_xticks(NEAREST, [f"{share} %" for share in NEAREST])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(bottom=0)

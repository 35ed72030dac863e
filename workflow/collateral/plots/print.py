"""Draw a plot as a printed figure with matplotlib and seaborn; equal plots give equal files."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import seaborn as sns
from fontTools.subset import Options
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator, StrMethodFormatter
from numpy.typing import NDArray

from collateral.plots.names import AREA, escape, place_names, set_scales
from collateral.plots.plot import (
    BAR_SHARE,
    WIDTH,
    Band,
    Level,
    Panel,
    Plot,
    Series,
    bar_step,
    is_beyond_axis,
    is_upright,
    label_size,
    shares_x,
    spread_series,
)
from collateral.plots.style import DARK, PALE, Look
from collateral.results.files import atomic

# fontTools would log every glyph that a PDF embeds.
logging.getLogger("fontTools").setLevel(logging.WARNING)
# A PDF needs no font tables for ligatures and kerning; embedding them would double the time.
Options._drop_tables_default = [*Options._drop_tables_default, "GDEF", "GPOS", "GSUB"]

FONT = "DejaVu Sans"  # font that is part of matplotlib, so that figures are equal on every machine
# Font sizes in points: of most texts, of tick labels, and of the smallest text.
LETTERS, TICK_LETTERS, SMALL = 7.0, 6.5, 6.0
THIN = 0.6  # width of axes, ticks and grid lines, in points
OWN_VALUE = "own value"  # legend of the ring (see `Series.ring_at`)
LEGEND_ROW = 0.17  # height of a row of the legend, in inches
EDGE = 0.35  # height in inches of the tick labels and the title of the horizontal axis
PANEL_SHARE = 0.85  # height of a row of panels, as a fraction of its height on the web page
TICKS_PER_INCH = 2.4
MAP_SHARE, POINTS = 0.8, 72  # share of a panel that its cells take; points per inch
TINY = 4.0  # area, in square points, up to which a point is drawn without a white edge
MANY = 200  # number of tiny points from which a cloud is saved as an image, to keep PDFs small
CLOUD_DPI = 200  # resolution of clouds of points in a PDF
SIZE_GREY = "0.55"  # colour of the legend's entries that explain areas
FINE = 0.7  # width in points of a line whose marks have areas
ARROW = 3.2  # size in points of an arrow that stands for a value or an interval beyond the axis
PALE_MARK = 0.3  # opacity of faint marks, as on the web page
DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "dash-dot": "-."}
RC: dict[Any, Any] = {
    **sns.axes_style("ticks"),
    **sns.plotting_context("paper", font_scale=LETTERS / 9.6),
    "font.family": FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **{f"axes.{part}size": LETTERS for part in ("title", "label")},
    **{f"{x}tick.labelsize": TICK_LETTERS for x in "xy"},
    "axes.titlepad": 4,
    "axes.labelpad": 3,
    "grid.color": "0.9",
    **{f"{part}.linewidth": THIN for part in ("axes", "grid")},
    **{f"{x}tick.{kind}.width": THIN for x in "xy" for kind in ("major", "minor")},
    **{f"{x}tick.{kind}.size": size for x in "xy" for kind, size in (("major", 3.5), ("minor", 2))},
    "lines.linewidth": 1.2,
    "legend.fontsize": LETTERS,
    "legend.frameon": False,
    "pdf.fonttype": 42,
}


@contextmanager
def print_style() -> Iterator[None]:
    """A context manager that sets matplotlib's style; draw and save figures inside it."""
    with mpl.rc_context(RC):
        yield


@print_style()
def draw(plot: Plot, text_width: float = WIDTH) -> Figure:
    """Draw a figure for a paper with this text width: all panels in a grid, the legend above."""
    heights = [max(panel.height for panel in row) for row in plot.rows]
    height = EDGE + PANEL_SHARE * plot.row_height * sum(heights)
    figure = Figure(figsize=(plot.width * text_width / WIDTH, height))
    grid = figure.subplots(len(heights), plot.columns, squeeze=False, height_ratios=heights)
    for axes, panel in zip(grid.flat, plot.panels, strict=False):
        draw_panel(axes, panel)
    for axes in grid.flat[len(plot.panels) :]:
        axes.set_visible(False)
    for axes, panel, below in zip(
        grid.flat, plot.panels, plot.panels[plot.columns :], strict=False
    ):
        if shares_x(panel, below) and not panel.is_map:
            axes.tick_params(labelbottom=False)
            axes.set_xlabel("")
    figure.align_ylabels()
    put_legend(figure, list(grid.flat)[: len(plot.panels)], plot)
    write_names(figure, list(zip(grid.flat, plot.panels, strict=False)))
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write `path`.pdf and `path`.png without dates, so that equal figures give equal files."""
    with print_style():
        if isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine):
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # reuse the layout for both files
        figure.set_dpi(CLOUD_DPI)
        # `Figure.savefig` would draw the figure twice for each file.
        with atomic(path.with_name(f"{path.name}.pdf")) as temporary:
            FigureCanvasPdf(figure).print_pdf(temporary, metadata={"CreationDate": None})
        figure.set_dpi(200)
        with atomic(path.with_name(f"{path.name}.png")) as temporary:
            FigureCanvasAgg(figure).print_png(temporary, metadata={"Software": None})


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw bands, levels and every series of a panel."""
    set_scales(axes, panel)
    if not panel.is_map:
        axes.grid(axis="both" if all(one.mark == "point" for one in panel.series) else "y")
    for band in panel.bands:
        draw_band(axes, band)
    for level in panel.levels:
        draw_level(axes, level)
    shifts = spread_series(panel)
    for series, shift in zip(panel.series, shifts, strict=True):
        draw_series(axes, panel, series, shift)
    axes.set_title(escape(panel.title))
    axes.set(xlabel=escape(panel.x.title), ylabel=escape(panel.y.title))
    set_ticks(axes, panel)
    if panel.is_map:
        fit_labels(axes, panel)
    for text, place in ((panel.text, (0.03, 0.99)), (panel.message, (0.5, 0.5))):
        alignment: dict[str, Any] = {"va": "top"} if text is panel.text else {"ha": "center"}
        axes.text(*place, escape(text), transform=axes.transAxes, fontsize=SMALL, **alignment)


def draw_band(axes: Axes, band: Band) -> None:
    """Draw a rectangle; infinite sides end at the edges of the panel."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    left, right = (_within(end, left, right) for end in (band.left, band.right))
    low, high = (_within(end, low, high) for end in (band.low, band.high))
    box = Rectangle((left, low), right - left, high - low, label=band.label or "_nolegend_")
    box.set(facecolor=band.colour or PALE, alpha=band.opacity, linewidth=0, zorder=0.5)
    axes.add_patch(box)


def draw_level(axes: Axes, level: Level) -> None:
    """Draw a line across the panel."""
    if not np.isfinite(level.value):
        return
    look: dict[str, Any] = {
        "color": "0.85" if level.is_faint else DARK,
        "linestyle": DASHES[level.dash],
    }
    draw_line = axes.axhline if level.axis == "y" else axes.axvline
    label = level.label or "_nolegend_"
    draw_line(level.value, linewidth=0.8, label=label, zorder=0.9, **look)
    if not level.text:
        return
    along: dict[str, Any] = {"fontsize": SMALL, "color": "0.3", "va": "bottom"}
    if level.axis == "y":
        place = (0.02, level.value, axes.get_yaxis_transform(), "left")
    else:
        place = (level.value, 1.01, axes.get_xaxis_transform(), "center")
    x, y, transform, alignment = place
    axes.text(x, y, escape(level.text), transform=transform, ha=alignment, **along)


def draw_series(axes: Axes, panel: Panel, series: Series, shift: float) -> None:
    """Draw a series and its intervals; marks beyond an axis are drawn at its edge."""
    x = np.asarray(series.x, dtype=float) + shift
    y = np.clip(np.asarray(series.y, dtype=float), *axes.get_ylim())
    if not series.sets_scale:
        x = np.clip(x, *axes.get_xlim())
    draw_intervals(axes, panel, series, x)
    if series.mark == "bar":
        draw_bars(axes, panel, series, x)
    elif series.mark == "point":
        draw_points(axes, series, x, y)
    else:
        draw_line(axes, panel, series, x)
    if series.ring_at in series.x:
        at = list(series.x).index(series.ring_at)
        ring: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "clip_on": False}
        axes.plot(x[at], y[at], "o", markeredgecolor=series.look.colour, label=OWN_VALUE, **ring)


def draw_line(axes: Axes, panel: Panel, series: Series, x: NDArray[np.float64]) -> None:
    """Draw a line with its marks; arrows at the edge stand for values beyond the axis."""
    y, look = np.asarray(series.y, dtype=float), _line_keywords(series.look)
    is_beyond = np.array([is_beyond_axis(panel, value) for value in y], dtype=bool)
    is_clipped = bool(is_beyond.any()) or not series.sets_scale
    if not len(series.areas):
        axes.plot(x, y, label=escape(series.label), clip_on=is_clipped, **look)
    else:  # the legend has the look of a line without areas
        axes.plot([], [], label=escape(series.label), **look)
        axes.plot(x, y, clip_on=is_clipped, **{**look, "linewidth": FINE, "marker": ""})
        draw_weighted_marks(axes, series, x, np.where(is_beyond, np.nan, y))
    draw_arrows(axes, x, y, y, series.look.colour)


def draw_arrows(
    axes: Axes,
    x: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    colour: str,
) -> None:
    """Draw arrows at the edge where values or intervals reach beyond the vertical axis."""
    bottom, top = axes.get_ylim()
    style: dict[str, Any] = {"color": colour, "markersize": ARROW, "clip_on": False}
    for at, is_cut, marker in ((bottom, low < bottom, "v"), (top, high > top, "^")):
        if is_cut.any():
            axes.plot(x[is_cut], np.full(is_cut.sum(), at), marker, **style)


def draw_weighted_marks(
    axes: Axes, series: Series, x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    """Draw the marks of a line with the areas of the series, faint ones transparent."""
    if not series.look.marker:
        return
    opacity = np.where(np.asarray(series.is_faint or [False] * len(x)), PALE_MARK, 1.0)
    look: dict[str, Any] = {"marker": series.look.marker, "color": series.look.colour}
    look |= {"alpha": opacity, "linewidths": 0, "zorder": 2, "clip_on": False}
    axes.scatter(x, y, series.areas, **look)


def draw_intervals(axes: Axes, panel: Panel, series: Series, x: NDArray[np.float64]) -> None:
    """Draw 95 % intervals as an area or as bars; arrows mark vertical bars that the axis cuts."""
    if not len(series.low):
        return
    low, high = (np.asarray(end, dtype=float) for end in (series.low, series.high))
    colour = "0.2" if series.mark == "bar" else series.look.colour
    if series.is_across:
        axes.hlines(series.y, low, high, color=colour, linewidth=0.8)
        left, right = axes.get_xlim()
        style: dict[str, Any] = {"color": colour, "markersize": ARROW, "clip_on": False}
        y = np.asarray(series.y, dtype=float)
        for at, is_cut, marker in ((left, low < left, "<"), (right, high > right, ">")):
            if is_cut.any():
                axes.plot(np.full(is_cut.sum(), at), y[is_cut], marker, **style)
    elif panel.interval == "area" and series.mark == "line":
        ends = np.clip([low, high], *axes.get_ylim())
        axes.fill_between(x, *ends, color=colour, alpha=0.13, linewidth=0)
    else:
        opacity = np.where(np.asarray(series.is_faint or [False] * len(x)), PALE_MARK, 0.7)
        axes.vlines(x, low, high, color=colour, linewidth=0.8, alpha=opacity, zorder=2.5)
        draw_arrows(axes, x, low, high, colour)


def draw_bars(axes: Axes, panel: Panel, series: Series, x: NDArray[np.float64]) -> None:
    """Draw bars; several series stand side by side."""
    width, colour = BAR_SHARE * bar_step(panel), series.look.colour
    label = escape(series.label)
    axes.bar(x, series.y, width, label=label, zorder=2, facecolor=colour, linewidth=0)


def draw_points(axes: Axes, series: Series, x: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    """Draw points of given areas; a hollow point has only an outline."""
    areas = np.asarray(series.areas if len(series.areas) else [AREA] * len(x))
    # Tiny points are drawn behind lines, and without white edges, which would cover them.
    edge, order = (0.4, 3.0) if areas.max(initial=0.0) > TINY else (0.0, 1.5)
    look: dict[str, Any] = {
        "marker": series.look.marker or "o",
        "facecolors": "none" if series.is_hollow else series.look.colour,
        "edgecolors": series.look.colour if series.is_hollow else "white",
        "linewidths": 1.0 if series.is_hollow else edge,
    }
    is_cloud = edge == 0 and len(x) >= MANY
    axes.scatter(x, y, areas, zorder=order, clip_on=False, rasterized=is_cloud, **look)
    axes.scatter([], [], 30.0, label=escape(series.label), **look)  # marker of the legend


def set_ticks(axes: Axes, panel: Panel) -> None:
    """Place the ticks of both axes and, if there are any, those above the panel."""
    across = max(2, min(7, round(TICKS_PER_INCH * _size(axes)[0])))
    for one, axis, most in ((axes.xaxis, panel.x, across), (axes.yaxis, panel.y, 5)):
        if axis.ticks:
            one.set_ticks(list(axis.ticks), [escape(text) for text in axis.ticks.values()])
            one.set_minor_locator(NullLocator())
        elif axis.scale == "log":
            one.set_major_formatter(StrMethodFormatter("{x:g}"))
            one.set_minor_formatter(NullFormatter())
        else:
            one.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10], integer=axis.is_whole))
        if axis.is_reversed:
            one.set_inverted(True)
    if panel.message and not panel.y.ticks:
        axes.set_yticks([])
    if panel.x.top_ticks:
        top = axes.secondary_xaxis("top")
        top.set_xticks(list(panel.x.top_ticks), list(panel.x.top_ticks.values()))
        top.xaxis.set_minor_formatter(NullFormatter())
        top.set_xlabel(panel.x.top_title)


def fit_labels(axes: Axes, panel: Panel) -> None:
    """Make the labels of a map small enough for all classes."""
    for one, axis, inches in zip(
        (axes.xaxis, axes.yaxis), (panel.x, panel.y), _size(axes), strict=True
    ):
        size = label_size(panel, axis, MAP_SHARE * POINTS * inches, TICK_LETTERS)
        one.set_tick_params(labelsize=size, length=0)
    axes.xaxis.set_tick_params(rotation=90 if is_upright(panel) else 0)


def put_legend(figure: Figure, grid: Sequence[Axes], plot: Plot) -> None:
    """Put a legend of all series, levels and bands above the panels, in as many columns as fit."""
    entries: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    drawn = [one for panel in plot.panels for one in panel.series if np.isfinite(one.y).any()]
    levels = [one.label for panel in plot.panels for one in panel.levels]
    bands = [one.label for panel in plot.panels for one in panel.bands]
    series = [] if plot.names_are_legend else [one.label for one in drawn]
    for text, area in plot.sizes.items():
        entries[escape(text)] = grid[0].scatter([], [], area, color=SIZE_GREY, linewidths=0)
    names = (*series, OWN_VALUE, *levels, *bands, *plot.sizes)
    order = [name for name in dict.fromkeys(map(escape, names)) if name in entries]
    figure.set_layout_engine("constrained")
    for columns in range(len(order), 0, -1):
        # matplotlib fills a legend column by column; entries are sorted so that rows read in order.
        by_column = [name for first in range(columns) for name in order[first::columns]]
        legend = figure.legend(
            [entries[name] for name in by_column],
            by_column,
            loc="outside upper left",
            ncols=columns,
            borderpad=0.3,
            borderaxespad=0.0,
            handlelength=1.8,
            columnspacing=1.3,
        )
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            figure.set_figheight(figure.get_figheight() + LEGEND_ROW * -(-len(order) // columns))
            return
        legend.remove()


def write_names(figure: Figure, panels: Sequence[tuple[Axes, Panel]]) -> None:
    """Draw the labels beside marks without overlap."""
    if not any(any(one.names) for _, panel in panels for one in panel.series):
        return
    figure.draw_without_rendering()  # The layout must fix the marks before labels are placed.
    figure.set_layout_engine("none")
    for axes, panel in panels:
        place_names(axes, panel)


def _size(axes: Axes) -> tuple[float, float]:
    """Return width and height of a panel in inches, with its labels."""
    spec = axes.get_subplotspec()
    figure = axes.get_figure(root=True)
    assert spec is not None and figure is not None
    grid = spec.get_gridspec()
    heights = np.array(grid.get_height_ratios(), dtype=float)
    share = heights[spec.rowspan.start] / heights.sum()
    return float(figure.get_figwidth() / grid.ncols), float(figure.get_figheight() * share)


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, min(low, high)), max(low, high))


def _line_keywords(look: Look) -> dict[str, Any]:
    line = {"color": look.colour, "linestyle": DASHES[look.dash], "marker": look.marker}
    return {**line, "markersize": 5, "markeredgewidth": 0.3}

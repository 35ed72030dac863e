"""A plot as data: panels of series with their 95 % intervals, levels, grey bands and labels.

A finding returns `Plot`s; `print.py` and `page.py` render the same object, so that the
printed figure and the chart on the web page show the same values and the same intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from collateral.contract.conventions import FIGURE_WIDTH
from collateral.plots.style import Dash, Look

Scale = Literal["linear", "log"]
Mark = Literal["line", "bar", "point"]
Limits = tuple[float, float]

UNKNOWN = "–"
WIDTH = FIGURE_WIDTH
ROOM = 0.05  # fraction of the axis length that is left empty at each end
LEAST_HEIGHT = 5.0  # smallest range of an axis of percentages, in percentage points
GROUP_WIDTH = 0.84  # width of a group of bars, as a fraction of the distance between groups
BAR_SHARE = 0.9  # width of a bar, as a fraction of the distance between bars
LABEL_SHARE = 0.85  # size of a tick label on a map, at most this fraction of a cell
MOST_LETTERS = 2  # longest labels of the columns of a map that are not turned
# Intervals extend an axis at each end by at most this fraction of the range of the means.
MOST_INTERVAL = 0.1


class Formula(str):
    """A text in which a printed figure typesets the mathematics between two $ signs."""


@dataclass(frozen=True)
class Axis:
    """An axis of a panel; without `limits`, its ends are fitted to the data."""

    title: str = ""
    scale: Scale = "linear"
    limits: Limits | None = None
    # Text of each tick, by position; if empty, the renderer chooses the ticks.
    ticks: Mapping[float, str] = field(default_factory=dict)
    is_reversed: bool = False
    is_whole: bool = False  # whether ticks are only at integers
    top_title: str = ""  # title of a second set of ticks, above the panel
    top_ticks: Mapping[float, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Series:
    """A line, a row of bars or a set of points, with one value per position."""

    label: str
    look: Look
    x: Sequence[float]
    y: Sequence[float]  # NaN is a gap
    run: str = ""  # name of the run that the switches of the page can hide; if empty, always drawn
    mark: Mark = "line"
    low: Sequence[float] = ()  # lower ends of the 95 % intervals; NaN where there is no interval
    high: Sequence[float] = ()
    n: Sequence[int] = ()  # number of seeds of each value
    noise: Sequence[float] = ()  # half-width of the noise floor at each position
    details: Mapping[str, Sequence[str]] = field(default_factory=dict)  # tooltip texts by title
    # Areas of the marks, in square points; with areas, a line is thin and its marks have these.
    areas: Sequence[float] = ()
    names: Sequence[str] = ()  # label beside each mark; an empty text is not drawn
    is_faint: Sequence[bool] = ()
    # x of the parameter value that the method uses outside the sweep; a ring marks it, unless NaN.
    ring_at: float = math.nan
    is_hollow: bool = False
    is_across: bool = False  # whether intervals are horizontal
    # Whether axis limits are fitted to this series; False for collapsed runs.
    sets_scale: bool = True


@dataclass(frozen=True)
class Level:
    """A line across a panel at one value of x or y."""

    value: float
    axis: Literal["x", "y"] = "y"
    dash: Dash = "solid"
    label: str = ""  # text in the legend
    text: str = ""  # text at the end of the line
    is_faint: bool = False


@dataclass(frozen=True)
class Band:
    """A rectangle behind the series; an infinite side reaches the panel's edge."""

    left: float = -math.inf
    right: float = math.inf
    low: float = -math.inf
    high: float = math.inf
    label: str = ""
    colour: str = ""  # colour of the band; if empty, the grey of the noise floor
    opacity: float = 1.0


@dataclass(frozen=True)
class Panel:
    """Series that share one pair of axes."""

    series: Sequence[Series]
    title: str = ""
    x: Axis = Axis()
    y: Axis = Axis()
    levels: Sequence[Level] = ()
    bands: Sequence[Band] = ()
    interval: Literal["bars", "area"] = "bars"
    dodge: float = 0.0  # range of x over which series at the same position are spread out
    height: float = 1.0  # height relative to the plot's row height
    text: str = ""  # text in the upper left corner
    message: str = ""  # text in the middle, such as "undefined"
    value_name: str = "value"  # name of y in the tooltip
    x_name: str = ""  # name of x in the tooltip; if empty, x is omitted
    number_format: str = ".1f"  # format of y in the tooltip
    unit: str = ""  # unit of y, which begins with a space
    # Whether the bands are cells of a map: no grid lines, and all ticks have labels that fit.
    is_map: bool = False


@dataclass(frozen=True)
class Plot:
    """A plot of a finding; `name` is the name of its files.

    Title, caption and notes stand beside the figure and are not drawn in it.
    """

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 1
    notes: Sequence[str] = ()  # sentences such as the number of seeds or failed runs
    names_are_legend: bool = False  # whether labels beside marks replace the legend
    width: float = WIDTH  # width in inches in a paper whose text is WIDTH inches wide
    row_height: float = 2.1  # height of a row of panels on the web page, in inches
    # Entries of the legend that explain the areas of marks: area in square points, by text.
    sizes: Mapping[str, float] = field(default_factory=dict)

    @property
    def rows(self) -> list[Sequence[Panel]]:
        """The panels, row by row."""
        starts = range(0, len(self.panels), self.columns)
        return [self.panels[start : start + self.columns] for start in starts]


def label_size(panel: Panel, axis: Axis, length: float, largest: float) -> float:
    """Return the size of tick labels on an axis of this length: on a map, all labels have room."""
    return min(largest, LABEL_SHARE * length / len(axis.ticks)) if panel.is_map else largest


def is_upright(panel: Panel) -> bool:
    """Return whether the labels of the horizontal ticks are turned: on a map, if they are long."""
    return panel.is_map and max(map(len, panel.x.ticks.values()), default=0) > MOST_LETTERS


def fit_x(panel: Panel) -> Limits:
    """Return the ends of the horizontal axis."""
    if panel.x.limits:
        return panel.x.limits
    shift = panel.dodge / 2
    places = [value for series in panel.series for value in series.x]
    bars = 0.5 if any(series.mark == "bar" for series in panel.series) else 0.0
    ends = [
        low for series in panel.series if series.is_across for low in (*series.low, *series.high)
    ]
    known = [value for value in (*places, *ends) if math.isfinite(value)]
    known += [level.value for level in panel.levels if level.axis == "x" and not level.is_faint]
    if not known:
        return 0.0, 1.0
    low, high = min(known) - shift - bars, max(known) + shift + bars
    return _with_room(low, high, panel.x.scale)


def fit_y(panel: Panel) -> Limits:
    """Return the ends of the vertical axis: it covers means, levels, bands and most intervals."""
    if panel.y.limits:
        return panel.y.limits
    low, high = means_range(panel)
    reach = MOST_INTERVAL * (high - low)
    ends = [
        end for one in scale_series(panel) if not one.is_across for end in (*one.low, *one.high)
    ]
    known = [min(max(end, low - reach), high + reach) for end in ends if math.isfinite(end)]
    return _with_room(min([low, *known]), max([high, *known]), panel.y.scale)


def means_range(panel: Panel) -> Limits:
    """Return the range that the axis must cover: means, levels, and bands as wide as the panel.

    A band at a single position may be huge where there are few examples; the axis cuts it.
    """
    values = [value for one in scale_series(panel) for value in one.y]
    values += [level.value for level in panel.levels if level.axis == "y"]
    wide = [band for band in panel.bands if math.isinf(band.left)]
    values += [end for band in wide for end in (band.low, band.high)]
    if any(series.mark == "bar" for series in panel.series) and panel.y.scale == "linear":
        values.append(0.0)
    known = [value for value in values if math.isfinite(value)]
    if panel.y.scale == "log":
        known = [value for value in known if value > 0]
    return (min(known), max(known)) if known else (0.0, 1.0)


def scale_series(panel: Panel) -> Sequence[Series]:
    """Return the series to which axis limits are fitted: those with `sets_scale`, or else all."""
    return [one for one in panel.series if one.sets_scale] or panel.series


def fit_differences(panels: Iterable[Panel], least: float = LEAST_HEIGHT) -> Limits:
    """Return the common axis ends of several panels of differences around zero."""
    ends = [end for panel in panels for end in fit_y(panel)]
    return _with_room(min(*ends, -least), max(*ends, least), "linear")


def fit_rates(panel: Panel) -> Limits:
    """Return the axis ends of a panel of percentages: within 0 to 100, and not too narrow."""
    low, high = fit_y(panel)
    missing = max(LEAST_HEIGHT - (high - low), 0.0)
    low, high = low - missing / 2, high + missing / 2
    low, high = max(low - max(high - 100.0, 0.0), 0.0), min(high, 100.0)
    edge = 0.03 * (high - low)  # empty margin, so that markers at 0 or 100 are not cut
    return low - edge, high + edge


def is_beyond_axis(panel: Panel, y: float) -> bool:
    """Return whether a value is above or below the vertical axis of a panel."""
    low, high = fit_y(panel)
    return not low <= y <= high if math.isfinite(y) else False


def format_number(value: float, form: str, unit: str = "") -> str:
    """Return a number as text; an undefined number is a dash."""
    return f"{value:{form}}{unit}".replace("-", "−") if math.isfinite(value) else UNKNOWN


def bar_step(panel: Panel) -> float:
    """Return the distance between neighbouring bars."""
    bars = [one for one in panel.series if one.mark == "bar"]
    places = sorted({x for one in bars for x in one.x})
    step = min((b - a for a, b in pairwise(places)), default=1.0)
    return GROUP_WIDTH * step / len(bars) if len(bars) > 1 else step


def spread_series(panel: Panel) -> list[float]:
    """Return the horizontal shift of each series that puts series at one position side by side."""
    count = len(panel.series)
    is_grouped = sum(one.mark == "bar" for one in panel.series) > 1
    step = bar_step(panel) if is_grouped else panel.dodge / max(count - 1, 1)
    return [(place - (count - 1) / 2) * step for place in range(count)]


def shares_x(panel: Panel, other: Panel) -> bool:
    """Return whether two panels have the same horizontal axis."""
    return fit_x(panel) == fit_x(other) and (panel.x.scale, panel.x.ticks) == (
        other.x.scale,
        other.x.ticks,
    )


def _with_room(low: float, high: float, scale: Scale) -> Limits:
    if scale == "log":
        factor = (high / low) ** ROOM if high > low else 1.5
        return low / factor, high * factor
    room = ROOM * (high - low) or 0.5
    return low - room, high + room

"""A plot as data: panels of series with their 95 % intervals, levels, grey bands and names.

A finding returns `Plot`s; `print.py` and `page.py` render the same object, so that a figure in
print and the chart on the page show the same values and the same intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from collateral.plots.style import Dash, Look

Scale = Literal["linear", "log", "sqrt"]
Mark = Literal["line", "bar", "point"]
Limits = tuple[float, float]

UNKNOWN = "–"
WIDTH = 6.75  # inches: the text width of a two-column paper
ROOM = 0.05  # of an axis, left free at either end
LEAST_HEIGHT = 5.0  # points that an axis of rates covers at least, so that noise does not fill it
GROUP_WIDTH = 0.84  # of the bars of one place together, of the distance between places
BAR_SHARE = 0.9  # of the distance between two bars, filled by a bar
MOST_INTERVAL = 0.1  # intervals widen an axis by at most this share of the means' range


@dataclass(frozen=True)
class Axis:
    """An axis of a panel; without `limits` it fits what is drawn."""

    title: str = ""
    scale: Scale = "linear"
    limits: Limits | None = None
    ticks: Mapping[float, str] = field(default_factory=dict)  # empty: chosen by the renderer
    is_reversed: bool = False
    is_whole: bool = False  # ticks at whole numbers only
    top_title: str = ""  # of a second set of ticks, above the panel
    top_ticks: Mapping[float, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Series:
    """A line, a row of bars or a cloud of points, with one value per place."""

    label: str
    look: Look
    x: Sequence[float]
    y: Sequence[float]  # NaN: a gap
    run: str = ""  # the page's switches hide it; empty: always drawn
    mark: Mark = "line"
    low: Sequence[float] = ()  # ends of the 95 % interval; NaN: none
    high: Sequence[float] = ()
    n: Sequence[int] = ()  # seeds behind each value
    noise: Sequence[float] = ()  # half-width of the noise floor at each place
    details: Mapping[str, Sequence[str]] = field(default_factory=dict)  # tooltip texts by title
    areas: Sequence[float] = ()  # of points, in square points
    names: Sequence[str] = ()  # written beside each place; empty: none
    is_faint: Sequence[bool] = ()
    ring_at: float = math.nan  # the x of the method's own value
    is_hollow: bool = False
    is_across: bool = False  # intervals run along x
    sets_scale: bool = True  # False for collapsed runs, which are drawn at the edge


@dataclass(frozen=True)
class Level:
    """A line across a panel at one value of x or y."""

    value: float
    axis: Literal["x", "y"] = "y"
    dash: Dash = "solid"
    label: str = ""  # in the legend
    text: str = ""  # written at the line's end
    is_faint: bool = False


@dataclass(frozen=True)
class Band:
    """A rectangle behind the series; an infinite side reaches the panel's edge."""

    left: float = -math.inf
    right: float = math.inf
    low: float = -math.inf
    high: float = math.inf
    label: str = ""
    colour: str = ""  # empty: the grey of noise
    opacity: float = 1.0


@dataclass(frozen=True)
class Panel:
    """Series over one pair of axes."""

    series: Sequence[Series]
    title: str = ""
    x: Axis = Axis()
    y: Axis = Axis()
    levels: Sequence[Level] = ()
    bands: Sequence[Band] = ()
    interval: Literal["bars", "area"] = "bars"
    dodge: float = 0.0  # x range over which the series of one place are spread
    height: float = 1.0  # relative to the plot's row height
    text: str = ""  # in the upper left corner
    message: str = ""  # in the middle, such as "undefined"
    value_name: str = "value"  # what the tooltip calls y
    x_name: str = ""  # what the tooltip calls x; empty: x is not in the tooltip
    number_format: str = ".1f"
    unit: str = ""  # of y, with its leading space


@dataclass(frozen=True)
class Plot:
    """What a finding draws; `name` is the name of its files."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel]
    columns: int = 1
    reading: str = ""  # how to read it, below the printed figure
    notes: Sequence[str] = ()
    names_are_legend: bool = False  # the names beside the marks stand for a legend of series
    width: float = WIDTH  # inches
    row_height: float = 2.1

    @property
    def rows(self) -> list[Sequence[Panel]]:
        """The panels, row by row."""
        starts = range(0, len(self.panels), self.columns)
        return [self.panels[start : start + self.columns] for start in starts]


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
    """Return the ends of the vertical axis, which holds means, levels, bands and most intervals."""
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
    """Return the lowest and highest of what the axis must hold: means, levels and wide bands.

    A band of a single place may be huge where there are few examples, and is cut.
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
    """Return the series that set the scale; all of them if none does."""
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
    edge = 0.03 * (high - low)  # so that a marker at 0 or 100 is whole
    return low - edge, high + edge


def format_number(value: float, form: str, unit: str = "") -> str:
    """Return a number as text, a dash if it is undefined."""
    return f"{value:{form}}{unit}".replace("-", "−") if math.isfinite(value) else UNKNOWN


def bar_step(panel: Panel) -> float:
    """Return the distance between neighbouring bars."""
    bars = [one for one in panel.series if one.mark == "bar"]
    places = sorted({x for one in bars for x in one.x})
    step = min((b - a for a, b in pairwise(places)), default=1.0)
    return GROUP_WIDTH * step / len(bars) if len(bars) > 1 else step


def spread_series(panel: Panel) -> list[float]:
    """Return the shift of each series, so that the series of one place stand side by side."""
    count = len(panel.series)
    is_grouped = sum(one.mark == "bar" for one in panel.series) > 1
    step = bar_step(panel) if is_grouped else panel.dodge / max(count - 1, 1)
    return [(place - (count - 1) / 2) * step for place in range(count)]


def shares_x(panel: Panel, other: Panel) -> bool:
    """Tell whether two panels have the same horizontal axis."""
    return fit_x(panel) == fit_x(other) and (panel.x.scale, panel.x.ticks) == (
        other.x.scale,
        other.x.ticks,
    )


def _with_room(low: float, high: float, scale: Scale) -> Limits:
    if scale == "log":
        factor = (high / low) ** ROOM if high > low else 1.5
        return low / factor, high * factor
    room = ROOM * (high - low) or 0.5
    return (low if scale == "sqrt" else low - room), high + room

"""Draw a plot for the web page in Vega-Lite, with tooltips and switches that hide runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from collateral.plots.names import AREA, find_name_places
from collateral.plots.plot import (
    BAR_SHARE,
    UNKNOWN,
    Band,
    Level,
    Panel,
    Plot,
    Series,
    bar_step,
    fit_x,
    fit_y,
    format_number,
    is_beyond_axis,
    is_upright,
    label_size,
    spread_series,
)
from collateral.plots.style import DARK

Spec = dict[str, Any]
XY = Literal["x", "y"]

ROWS = {"name": "rows"}
SMALL_DOT = 8  # area in square pixels of a dot on a line without markers
NEUTRAL = "#888"  # grey that is visible on light and on dark pages
WIDTH = 720  # width of a row of panels, in pixels
AXIS_WIDTH = 50  # pixels of a panel's width that its tick labels take
PIXELS_PER_INCH = 88
PIXELS_PER_POINT = PIXELS_PER_INCH / 72
LETTERS = 11  # font size of labels, in pixels
TEXT = {"type": "text", "fontSize": LETTERS, "aria": False}  # Vega-Lite mark that draws text
PALE = 0.3  # opacity of faint marks, and of the lines to them
DIGITS = 5  # significant digits of numbers in the chart's data
DASHES = {"solid": [1, 0], "dashed": [5, 3], "dotted": [2, 3], "dash-dot": [6, 3, 2, 3]}
TILTED = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"
STAR = "M0,-1L.24,-.31L.95,-.31L.38,.12L.59,.81L0,.4L-.59,.81L-.38,.12L-.95,-.31L-.24,-.31Z"
# Vega's shape for each marker of matplotlib; below, the character for the marker in a legend.
SHAPES = {"o": "circle", "s": "square", "D": "diamond", "^": "triangle-up", "v": "triangle-down"}
SHAPES |= {"P": "cross", "X": TILTED, "<": "triangle-left", ">": "triangle-right", "*": STAR}
CHARACTERS = dict(zip(SHAPES, "●■◆▲▼✚✖◀▶★", strict=True))
NAMES = "names"  # description of label layers, which the script drops on narrow screens
# Marks of values beyond the vertical axis.
ARROWS = {"above": "triangle-up", "below": "triangle-down"}
CHANNELS = ("color", "shape", "stroke", "strokeDash")
IS_SHOWN = {"filter": "indexof(hidden, datum.run) < 0"}


@dataclass(frozen=True)
class Key:
    """An entry of a chart's legend: a symbol and a text."""

    label: str
    colour: str
    symbol: str = ""  # character that shows the series in the legend, in its colour
    dash: str = ""  # dash pattern of the line in SVG; empty if the series has no line
    run: str = ""  # name of the run; a switch on the page can hide it
    radius: float = 0.0  # radius in pixels of a disc that explains an area; 0 for other entries


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification, the rows of its data, and the legend."""

    name: str
    spec: Mapping[str, Any]
    # Rows of the chart's data; the field `run` names the run of a row.
    rows: Sequence[Mapping[str, Any]]
    caption: str
    legend: Sequence[Key] = ()
    has_names: bool = False  # whether labels beside marks replace the legend on a wide screen
    place: str = ""  # path of the printed figure's files relative to the page, without suffix

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows of the chart's data by column; None where a row has no value."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        return {name: [row.get(name) for row in self.rows] for name in names}


def draw(plot: Plot, place: str = "") -> Chart:
    """Return the plot as a chart; its Vega parameter `hidden` lists runs that are not drawn.

    `place` is the path of the printed figure's files relative to the page, without suffix.
    """
    panels = [
        draw_panel(panel, place, _find_size(plot, panel)) for place, panel in enumerate(plot.panels)
    ]
    rows = [row for place, panel in enumerate(plot.panels) for row in panel_rows(panel, place)]
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": plot.title,
        "data": ROWS,
        "params": [{"name": "hidden", "value": []}],
        "concat": panels,
        "columns": plot.columns,
        "resolve": {"scale": dict.fromkeys(CHANNELS, "independent")},
    }
    legend = list(dict.fromkeys(key for panel in plot.panels for key in list_keys(panel)))
    legend += [
        Key(text, NEUTRAL, radius=round(math.sqrt(area / math.pi) * PIXELS_PER_POINT, 1))
        for text, area in plot.sizes.items()
    ]
    labelled = [one for panel in plot.panels for one in panel.series if one.label]
    has_names = plot.names_are_legend or all(any(one.names) for one in labelled)
    return Chart(plot.name, spec, rows, plot.caption, legend, has_names, place)


def list_keys(panel: Panel) -> Iterator[Key]:
    """Yield the legend's entries for the series, levels and bands of a panel."""
    for one in panel.series:
        if one.label:
            symbol = "■" if one.mark == "bar" else CHARACTERS.get(one.look.marker, "")
            symbol = symbol or ("●" if one.mark == "point" else "")
            dash = " ".join(map(str, DASHES[one.look.dash])) if one.mark == "line" else ""
            yield Key(one.label, _visible(one.look.colour), symbol, dash, one.run)
    for level in panel.levels:
        if level.label and math.isfinite(level.value):
            yield Key(level.label, NEUTRAL, dash=" ".join(map(str, DASHES[level.dash])))
    for band in panel.bands:
        if band.label:
            yield Key(band.label, band.colour or NEUTRAL, "▒")


def _visible(colour: str) -> str:
    """Return a colour that is visible on light and on dark pages."""
    return NEUTRAL if colour == DARK else colour


def panel_rows(panel: Panel, place: int) -> Iterator[dict[str, Any]]:
    """Yield the data of a panel: one row per value of each series, with the tooltip's texts."""
    for series, shift in zip(panel.series, spread_series(panel), strict=True):
        for index in range(len(series.x)):
            row = _value_row(panel, series, index, shift)
            yield {"panel": place, "kind": series.mark, **row}


def draw_panel(panel: Panel, place: int, size: tuple[int, int]) -> Spec:
    """Return a panel: bands, levels, intervals, marks and labels, from back to front."""
    layers: list[Spec] = []
    if panel.bands:
        layers.append(_draw_bands(panel))
    layers += [layer for level in panel.levels for layer in _draw_level(panel, level)]
    for mark in dict.fromkeys(series.mark for series in panel.series):
        of_mark = [{"filter": f"datum.panel == {place} && datum.kind == '{mark}'"}, IS_SHOWN]
        for layer in _draw_series(panel, mark):
            layers.append({**layer, "transform": [*of_mark, *layer.get("transform", [])]})
    layers += _draw_names(panel, size)
    layers += _draw_texts(panel, size)
    if panel.is_map:
        _fit_labels(panel, layers, size)
    return {"title": _lines_of(panel.title), "layer": layers, "width": size[0], "height": size[1]}


def _lines_of(text: str) -> str | list[str]:
    return text.split("\n") if "\n" in text else text


def _fit_labels(panel: Panel, layers: Sequence[Spec], size: tuple[int, int]) -> None:
    """Set the axes of a map in all its layers: no ticks, and a label for each class."""
    look: Spec = {"grid": False, "ticks": False, "labelOverlap": False}
    lengths = {"x": (panel.x, size[0]), "y": (panel.y, size[1])}
    for layer in layers:
        for name, (axis, length) in lengths.items():
            letters = {"labelFontSize": label_size(panel, axis, length, LETTERS)}
            layer["encoding"][name]["axis"] |= {**look, **letters}
        if is_upright(panel):
            turned = {"labelAngle": -90, "labelAlign": "right", "labelBaseline": "middle"}
            layer["encoding"]["x"]["axis"] |= turned


def _draw_bands(panel: Panel) -> Spec:
    return {
        "data": {"values": [_band_row(panel, band) for band in panel.bands]},
        "mark": {"type": "rect", "clip": True, "aria": False},
        "encoding": {
            "x": _place(panel, "x", "left"),
            "x2": {"field": "right"},
            "y": _place(panel, "y", "bottom"),
            "y2": {"field": "top"},
            "color": {"field": "colour", "type": "nominal", "scale": None},
            "opacity": {"field": "opacity", "type": "quantitative", "scale": None},
        },
    }


def _draw_level(panel: Panel, level: Level) -> Iterator[Spec]:
    """Yield the chart layers of a reference level: a line across the panel, and its label."""
    if not math.isfinite(level.value):
        return
    data = {"values": [{"at": level.value, "text": level.text}]}
    look = {"color": NEUTRAL, "opacity": 0.4 if level.is_faint else 1.0, "aria": False}
    at = {level.axis: _place(panel, level.axis, "at")}
    yield {
        "data": data,
        "mark": {"type": "rule", "strokeDash": DASHES[level.dash], **look},
        "encoding": at,
    }
    if level.text:
        beside = {"x": {"value": 2}} if level.axis == "y" else {"y": {"value": -4}}
        align, shift = ("left", -5) if level.axis == "y" else ("center", 0)
        mark = {**TEXT, "align": align, "dy": shift}
        yield {"data": data, "mark": mark, "encoding": {**at, **beside, "text": {"field": "text"}}}


def _draw_series(panel: Panel, mark: str) -> Iterator[Spec]:
    """Yield the Vega-Lite layers of all series with this mark; the caller filters hidden runs."""
    x, y = _place(panel, "x", "x"), _place(panel, "y", "y")
    look = {"color": _by_label(panel, "colour"), "tooltip": _tooltip(panel)}
    faint = {"condition": {"test": "datum.is_faint", "value": PALE}, "value": 1.0}
    if any(len(one.low) for one in panel.series if one.mark == mark):
        yield from _draw_intervals(panel, mark)
    if mark == "bar":
        # Bars begin at zero, or at the bottom of a logarithmic axis.
        base = {"datum": fit_y(panel)[0] if panel.y.scale == "log" else 0.0}
        sides = {"x": _place(panel, "x", "left"), "x2": {"field": "right"}, "y": y, "y2": base}
        yield {"mark": {"type": "bar", "clip": True}, "encoding": {**sides, **look}}
    elif mark == "line":
        dash = {"strokeDash": _by_label(panel, "dash"), "order": {"field": "order"}}
        line = {"color": look["color"], "x": x, "y": y, **dash}
        is_pale = any(any(one.is_faint) for one in panel.series if one.mark == mark)
        strength = {"opacity": PALE} if is_pale else {}
        yield {"mark": {"type": "line", "aria": False, "clip": True, **strength}, "encoding": line}
        if is_pale:
            yield _draw_segments(line)
        if any(math.isfinite(one.ring_at) for one in panel.series):
            yield {
                "transform": [{"filter": "datum.is_ring && !datum.beyond"}],
                "mark": {"type": "point", "size": 160, "filled": False, "aria": False},
                "encoding": {"x": x, "y": y, "color": look["color"]},
            }
        dot_size: Spec = {
            "condition": {"test": "datum.has_marker", "value": 36},
            "value": SMALL_DOT,
        }
        if any(len(one.areas) for one in panel.series if one.mark == mark):
            dot_size = {"field": "area", "type": "quantitative", "scale": None}
        dots = {"x": x, "y": y, "opacity": faint, "size": dot_size, **look}
        dots["shape"] = _by_label(panel, "shape")
        inside = {"transform": [{"filter": "!datum.beyond"}]}
        yield {**inside, "mark": {"type": "point", "filled": True}, "encoding": dots}
        yield from _draw_beyond(panel, {"x": x, **look})
    else:
        fill = {"condition": {"test": "datum.is_hollow", "value": 0.0}, "value": 0.9}
        shape = {"shape": _by_label(panel, "shape"), "stroke": look["color"], "fillOpacity": fill}
        size = {"field": "area", "type": "quantitative", "scale": None}
        points = {"x": x, "y": y, "opacity": faint, "size": size, **shape, **look}
        yield {"mark": {"type": "point", "filled": True, "strokeWidth": 1.5}, "encoding": points}


def _draw_segments(line: Spec) -> Spec:
    """Return the segments of pale lines at full strength, between two marks that are not faint."""
    ends = {f"{axis}2": {"field": f"next_{axis}"} for axis in ("x", "y")}
    encoding = {name: line[name] for name in ("color", "x", "y", "strokeDash")}
    return {
        "transform": [{"filter": "datum.is_strong"}],
        "mark": {"type": "rule", "strokeWidth": 2, "aria": False, "clip": True},
        "encoding": {**encoding, **ends},
    }


def _draw_beyond(panel: Panel, encoding: Spec) -> Iterator[Spec]:
    """Yield arrows at the edge of a panel, for values of lines beyond its vertical axis."""
    lines = [one for one in panel.series if one.mark == "line"]
    found = {_side(panel, y) for one in lines for y in one.y if is_beyond_axis(panel, y)}
    for side in sorted(found):
        yield {
            "transform": [{"filter": f"datum.beyond == '{side}'"}],
            "mark": {"type": "point", "filled": True, "size": 30, "shape": ARROWS[side]},
            "encoding": {**encoding, "y": _place(panel, "y", "edge")},
        }


def _side(panel: Panel, y: float) -> str:
    return "above" if y > fit_y(panel)[1] else "below"


def _draw_intervals(panel: Panel, mark: str) -> Iterator[Spec]:
    """Yield the 95 % intervals, as an area or as bars with arrows where the axis cuts them."""
    is_across = any(one.is_across for one in panel.series)
    is_area = panel.interval == "area" and mark == "line"
    along: XY = "x" if is_across else "y"
    other: XY = "y" if is_across else "x"
    look = {
        other: _place(panel, other, other),
        "color": {"value": NEUTRAL} if mark == "bar" else _by_label(panel, "colour"),
    }
    shape = {"type": "area", "opacity": 0.13} if is_area else {"type": "rule"}
    ends = {along: _place(panel, along, "low"), f"{along}2": {"field": "high"}}
    yield {"mark": {**shape, "aria": False, "clip": True}, "encoding": {**ends, **look}}
    shapes = ("triangle-left", "triangle-right") if is_across else ("triangle-down", "triangle-up")
    for end, arrow in zip(("low", "high"), shapes, strict=True):
        yield {
            "transform": [{"filter": f"datum.is_{end}_cut"}],
            "mark": {"type": "point", "filled": True, "size": 30, "shape": arrow, "aria": False},
            "encoding": {along: _place(panel, along, end), **look},
        }


def _draw_names(panel: Panel, size: tuple[int, int]) -> Iterator[Spec]:
    """Yield the labels beside marks, and the lines from far labels to their marks."""
    width, height = (pixels / PIXELS_PER_INCH for pixels in size)
    names = find_name_places(panel, width, height, LETTERS / PIXELS_PER_POINT)
    if not names:
        return
    values = [
        {
            **{"run": name.series.run, "label": name.series.label, "text": name.text},
            **dict(zip(("x", "y"), map(_rounded, name.place), strict=True)),
            **dict(zip(("mark_x", "mark_y"), map(_rounded, name.mark), strict=True)),
        }
        for name in names
    ]
    x, y, colour = _place(panel, "x", "x"), _place(panel, "y", "y"), _by_label(panel, "colour")
    common = {"description": NAMES, "data": {"values": values}, "transform": [IS_SHOWN]}
    ends = {"x2": {"field": "mark_x"}, "y2": {"field": "mark_y"}}
    tie = {"type": "rule", "strokeWidth": 0.5, "aria": False}
    yield {**common, "mark": tie, "encoding": {"x": x, "y": y, **ends, "color": colour}}
    text = {"x": x, "y": y, "text": {"field": "text"}}
    yield {**common, "mark": TEXT, "encoding": text}


def _draw_texts(panel: Panel, size: tuple[int, int]) -> Iterator[Spec]:
    """Yield a panel's corner text, its central message, and its ticks at the top."""
    middle = {"x": size[0] / 2, "y": size[1] / 2, "align": "center"}
    for text, place in ((panel.text, {"x": 4, "y": 8, "align": "left"}), (panel.message, middle)):
        if text:
            mark = {**TEXT, **place, "text": text.split("\n")}
            yield {"data": {"values": [{}]}, "mark": mark}
    ticks = [{"at": at, "text": text} for at, text in panel.x.top_ticks.items()]
    if ticks:
        at = {"x": _place(panel, "x", "at"), "text": {"field": "text"}}
        yield {"data": {"values": ticks}, "mark": {**TEXT, "y": -8}, "encoding": at}
        title = {**TEXT, "x": size[0] / 2, "y": -22, "text": panel.x.top_title}
        yield {"data": {"values": [{}]}, "mark": title}


def _band_row(panel: Panel, band: Band) -> dict[str, Any]:
    """Return the sides of a band; an infinite side is the edge of the panel."""
    (left, right), (low, high) = fit_x(panel), fit_y(panel)
    sides = {"left": max(band.left, left), "right": min(band.right, right)}
    sides |= {"bottom": max(band.low, low), "top": min(band.high, high)}
    opacity = 0.22 if not band.colour else band.opacity
    rounded = {name: _rounded(value) for name, value in sides.items()}
    return {**rounded, "colour": band.colour or NEUTRAL, "opacity": opacity}


def _value_row(panel: Panel, series: Series, index: int, shift: float) -> dict[str, Any]:
    """Return the row of one value of a series: its position, and the texts of its tooltip."""
    x, y = float(series.x[index]), float(series.y[index])
    (left, right), (bottom, top) = fit_x(panel), fit_y(panel)
    low, high = (_at(ends, index) for ends in (series.low, series.high))
    limits = (left, right) if series.is_across else (bottom, top)
    drawn_x = min(max(x + shift, left), right)
    numbers = {
        "x": drawn_x,
        "y": min(max(y, bottom), top),
        "low": min(max(low, limits[0]), limits[1]),
        "high": min(max(high, limits[0]), limits[1]),
    }
    is_beyond = series.mark == "line" and is_beyond_axis(panel, y)
    if is_beyond:  # the line ends at the edge of the panel, and an arrow stands there
        numbers |= {"y": y, "edge": numbers["y"]}
    if series.mark == "point" or len(series.areas):
        area = PIXELS_PER_POINT**2 * _at(series.areas, index, AREA)
        numbers["area"] = SMALL_DOT if series.mark == "line" and not series.look.marker else area
    if series.mark == "bar":
        half = BAR_SHARE * bar_step(panel) / 2
        numbers |= {"left": drawn_x - half, "right": drawn_x + half}
    after = _find_strong_end(panel, series, index, shift)
    numbers |= dict(zip(("next_x", "next_y"), after, strict=False))
    flags = {
        "is_strong": bool(after),
        "is_ring": x == series.ring_at,
        "is_low_cut": low < limits[0],
        "is_high_cut": high > limits[1],
        "is_hollow": series.is_hollow,
        "is_faint": bool(_at(series.is_faint, index, 0.0)),
        "has_marker": series.mark == "line" and not series.look.is_control,
    }
    return {
        **{"run": series.run, "label": series.label},
        **({"order": index} if series.mark == "line" else {}),
        **{name: _rounded(value) for name, value in numbers.items() if math.isfinite(value)},
        **{name: True for name, value in flags.items() if value},
        **({"beyond": _side(panel, y)} if is_beyond else {}),
        **_texts(panel, series, index),
    }


def _find_strong_end(panel: Panel, series: Series, index: int, shift: float) -> tuple[float, ...]:
    """Return the end of the segment that begins at a value; empty unless drawn at full strength."""
    ends = (index, index + 1)
    if series.mark != "line" or not any(series.is_faint) or ends[1] == len(series.x):
        return ()
    if any(series.is_faint[at] or not math.isfinite(series.y[at]) for at in ends):
        return ()
    left, right = fit_x(panel)
    return min(max(float(series.x[ends[1]]) + shift, left), right), float(series.y[ends[1]])


def _texts(panel: Panel, series: Series, index: int) -> dict[str, Any]:
    """Return the texts of the tooltip of one value."""
    low, high = (_at(ends, index) for ends in (series.low, series.high))
    texts: dict[str, Any] = {
        f"d{place}": many[index] for place, many in enumerate(series.details.values())
    }
    value = float((series.x if series.is_across else series.y)[index])
    texts["text"] = describe_value(panel, value, low, high)
    texts |= {"at": f"{float(series.x[index]):g}"} if panel.x_name else {}
    texts |= {"n": series.n[index]} if len(series.n) else {}
    if len(series.noise):
        form = panel.number_format.lstrip("+")
        texts["noise"] = format_number(_at(series.noise, index), form, panel.unit)
    return texts


def describe_value(panel: Panel, mean: float, low: float, high: float) -> str:
    """Return a value with its 95 % interval as text, such as "+1.0 [-0.1, +2.1] points"."""
    form = panel.number_format
    if not math.isfinite(mean):
        return UNKNOWN
    ends = f" [{format_number(low, form)}, {format_number(high, form)}]"
    return f"{format_number(mean, form)}{ends if math.isfinite(low + high) else ''}{panel.unit}"


def _tooltip(panel: Panel) -> list[Spec]:
    """Return the fields of the tooltip: method, details, value, noise floor, seeds."""
    titles = {"label": "method"}
    details = next((one.details for one in panel.series if one.details), {})
    titles |= {f"d{place}": title for place, title in enumerate(details)}
    titles |= {"at": panel.x_name} if panel.x_name else {}
    titles |= {"text": panel.value_name}
    titles |= {"noise": "noise floor, ±"} if any(len(one.noise) for one in panel.series) else {}
    titles |= {"n": "seeds"} if any(len(one.n) for one in panel.series) else {}
    return [{"field": name, "type": "nominal", "title": title} for name, title in titles.items()]


def _by_label(panel: Panel, what: str) -> Spec:
    """Return the Vega-Lite encoding of colour, dash or shape by label, without a legend."""
    looks = {one.label: one.look for one in panel.series}
    ranges: dict[str, list[Any]] = {
        "colour": [_visible(look.colour) for look in looks.values()],
        "dash": [DASHES[look.dash] for look in looks.values()],
        "shape": [SHAPES.get(look.marker, "circle") for look in looks.values()],
    }
    scale = {"domain": list(looks), "range": ranges[what]}
    return {"field": "label", "type": "nominal", "scale": scale, "legend": None}


def _place(panel: Panel, name: XY, field: str) -> Spec:
    """Return the Vega-Lite encoding of a data field on the horizontal or the vertical axis."""
    axis, limits = (panel.x, fit_x(panel)) if name == "x" else (panel.y, fit_y(panel))
    scale: Spec = {"type": axis.scale, "domain": list(limits), "nice": False}
    scale |= {"zero": False} if axis.scale != "log" else {}
    ticks: Spec = {"tickCount": 5, "grid": name == "y" and axis.scale != "log"}
    if axis.ticks:
        cases = [f"datum.value == {at:g} ? {json.dumps(text)}" for at, text in axis.ticks.items()]
        # With a small tick count, Vega would drop some of these ticks on a logarithmic axis.
        ticks |= {
            "values": list(axis.ticks),
            "labelOverlap": "greedy",
            "tickCount": len(axis.ticks) * 10,
        }
        ticks |= {"labelExpr": f"split({' : '.join(cases)} : '', '\\n')"}
    if axis.is_whole:
        ticks |= {"tickMinStep": 1, "format": "d"}
    if panel.message and name == "y" and not axis.ticks:
        ticks |= {"labels": False, "ticks": False}
    note = " (log scale)" if axis.scale == "log" else ""
    title = f"{axis.title}{note}".split("\n") if axis.title else None
    return {
        "field": field,
        "type": "quantitative",
        "scale": {**scale, "reverse": axis.is_reversed},
        "axis": {"title": title, "labelAngle": 0, **ticks},
    }


def _find_size(plot: Plot, panel: Panel) -> tuple[int, int]:
    """Return width and height of a panel in pixels."""
    width = WIDTH // plot.columns - AXIS_WIDTH if plot.columns > 1 else 620
    return width, round(PIXELS_PER_INCH * plot.row_height * panel.height)


def _at(values: Sequence[float], index: int, default: float = math.nan) -> float:
    return float(values[index]) if len(values) else default


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")

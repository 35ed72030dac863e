"""What Vega draws of every plot on the page is what the plot has; a switch acts in every layer."""

import json
import math
import re
from itertools import pairwise

import numpy as np
import pytest
import vl_convert
from chart_reading import Mark, marks_in
from expected_pictures import Long, said
from made_benchmark import folder_of
from test_plots_print import drawn_places

from collateral.plots import page
from collateral.plots.plot import Panel, fit_x, fit_y, is_beyond_axis
from collateral.plots.style import DARK

ROUNDED = {"rel": 6e-5, "abs": 1e-9}  # five digits
NEUTRAL = "#888"
SHOWN = {"line": "point", "point": "point", "bar": "bar"}  # the marks that have tooltips
SHAPES = dict(zip("osD^vP<>", ("circle", "square", "diamond", "triangle-up", "triangle-down",
    "cross", "triangle-left", "triangle-right"), strict=True))  # fmt: skip
OUTLINED = {"X": 12, "*": 10}  # corners of the markers that Vega draws as paths
SCALES = {"linear": "", "log": " (log scale)"}
LETTERS = 11  # size of every text, in pixels


@pytest.fixture(scope="module", params=("made", "cifar-small", "cifar-teacher"))
def charts(request):
    """Every plot of a benchmark with its chart."""
    return [(plot, page.draw(plot)) for plot in Long(folder_of(request)).plots().values()]


def panels_of(charts):
    """Yield every panel with its marks and its part of the specification."""
    for plot, chart in charts:
        for place, (panel, spec) in enumerate(zip(plot.panels, chart.spec["concat"], strict=True)):
            yield panel, marks_in(chart, place), spec


def is_alike(panel: Panel, other: Panel) -> bool:
    behind = [(str(one.levels), str(one.bands)) for one in (panel, other)]
    labels = [[series.label for series in one.series] for one in (panel, other)]
    return (
        behind[0] == behind[1]
        and labels[0] == labels[1]
        and all(
            np.array_equal(
                np.array(getattr(a, name), float), np.array(getattr(b, name), float), True
            )
            for a, b in zip(panel.series, other.series, strict=True)
            for name in ("x", "y", "low", "high")
        )
    )


def same(found, expected) -> None:
    """Compare rows of numbers and texts, whatever their order; NaN and None are not drawn."""
    found, expected = (
        sorted([tuple(row) for row in rows if not any(map(is_missing, row))], key=order)
        for rows in (found, expected)
    )
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        texts = [[v for v in row if isinstance(v, str)] for row in (one, other)]
        numbers = [[float(v) for v in row if not isinstance(v, str)] for row in (one, other)]
        assert texts[0] == texts[1]
        assert numbers[0] == pytest.approx(numbers[1], **ROUNDED)


def is_missing(value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def order(row):
    return [one if isinstance(one, str) else f"{float(one):+013.4f}" for one in row]


def at(mark: Mark, *channels: str) -> list:
    return [mark.at.get(channel) for channel in channels]


def values_of(panel: Panel):
    """Yield kind, series, place of the value, and where it is drawn."""
    left, right = fit_x(panel)
    for kind in SHOWN:
        for one, x, y in drawn_places(panel, kind):
            for index in range(len(one.x)):
                if math.isfinite(one.y[index]) and math.isfinite(one.x[index]):
                    yield kind, one, index, float(np.clip(x[index], left, right)), float(y[index])


def find(values, index, default=math.nan):
    return values[index] if len(values) else default


def colour_of(look) -> str:
    return NEUTRAL if look.colour == DARK else look.colour


def series_marks(marks, *kinds):
    return [m for m in marks if m.kind in kinds and "kind" in m.datum and "label" in m.datum]


def test_values_colours_and_areas(charts):
    for panel, marks, _ in panels_of(charts):
        expected = {kind: [] for kind in SHOWN}
        for kind, one, index, x, y in values_of(panel):
            weighted = find(one.areas, index, 16.0) * (88 / 72) ** 2
            on_line = weighted if len(one.areas) and one.look.marker else 36
            area = {
                "point": weighted,
                "line": 8 if one.look.is_control else on_line,
                "bar": 0,
            }[kind]
            if kind == "line" and is_beyond_axis(panel, one.y[index]):
                continue  # an arrow stands in its place
            expected[kind].append((one.label, colour_of(one.look), x, y, area))
        for kind, name in SHOWN.items():
            found = [m for m in series_marks(marks, name) if "tooltip" in m.encoding]
            found = [m for m in found if "shape" not in m.look]
            found = [m for m in found if m.datum["kind"] == kind]
            rows = [(m.datum["label"], *at(m, "color", "x", "y", "size")) for m in found]
            if kind == "bar":
                rows = [
                    (*row[:2], (m.at["x"] + m.at["x2"]) / 2, row[3], 0)
                    for m, row in zip(found, rows, strict=True)
                ]
            same(rows, expected[kind])


def test_markers_have_the_shapes_of_print(charts):
    for panel, marks, _ in panels_of(charts):
        looks = {one.label: one.look for one in panel.series}
        for m in series_marks(marks, "point"):
            if "tooltip" in m.encoding:
                marker, shape = looks[m.datum["label"]].marker, m.at["shape"]
                if marker in OUTLINED:
                    corners = re.fullmatch(r"M([-.\d,L]+)Z", shape)[1].split("L")
                    assert len(corners) == OUTLINED[marker]
                else:
                    assert shape == SHAPES[marker or "o"]
                is_point = m.datum["kind"] == "point"
                assert m.at.get("stroke") == (m.at["color"] if is_point else None)


def test_lines_have_every_value_in_order(charts):
    for panel, marks, _ in panels_of(charts):
        rows = [
            (m.datum["label"], m.datum["order"], *at(m, "x", "y"))
            for m in marks
            if m.kind == "line"
        ]
        values = [v for v in values_of(panel) if v[0] == "line"]
        same(rows, [(one.label, index, x, y) for _, one, index, x, y in values])
        for m in marks:
            if m.kind == "line":
                scale = m.encoding["strokeDash"]["scale"]
                dashes = dict(zip(scale["domain"], scale["range"], strict=True))
                looks = {one.label: one.look for one in panel.series}
                assert dashes == {name: page.DASHES[look.dash] for name, look in looks.items()}


def test_tooltips(charts):
    for panel, marks, _ in panels_of(charts):
        expected = []
        for _, one, index, _, _ in values_of(panel):
            form, unit = panel.number_format, panel.unit
            row = {"method": one.label}
            row |= {title: many[index] for title, many in one.details.items()}
            row |= {panel.x_name: f"{float(one.x[index]):g}"} if panel.x_name else {}
            ends = (find(one.low, index), find(one.high, index))
            value = (one.x if one.is_across else one.y)[index]
            row[panel.value_name] = said(value, *ends, form, unit)
            if len(one.noise):
                noise = one.noise[index]
                row["noise floor, ±"] = said(noise, math.nan, math.nan, form.lstrip("+"), unit)
            row["seeds"] = find(one.n, index, None)
            expected.append({title: text for title, text in row.items() if text is not None})
        found = [
            m
            for m in series_marks(marks, *SHOWN.values())
            if m.hover and {"x", "y"} <= m.datum.keys()
        ]
        titles = {title for m in found for title in m.hover}
        texts = [{t: v for t, v in m.hover.items() if v is not None} for m in found]
        expected = [{t: v for t, v in row.items() if t in titles} for row in expected]
        key = lambda row: sorted((t, str(v)) for t, v in row.items())  # noqa: E731
        assert sorted(texts, key=key) == sorted(expected, key=key)
        has_noise = any(len(one.noise) for one in panel.series)
        assert not found or ("noise floor, ±" in titles) == has_noise
        assert not found or ("seeds" in titles) == any(len(one.n) for one in panel.series)


def test_intervals_and_where_the_axis_cuts_them(charts):
    for panel, marks, _ in panels_of(charts):
        expected, cuts, areas = [], [], []
        for kind, one, index, x, y in values_of(panel):
            low, high = find(one.low, index), find(one.high, index)
            limits = fit_x(panel) if one.is_across else fit_y(panel)
            ends = np.clip([low, high], *limits).tolist()
            row = (one.label, *ends, y) if one.is_across else (one.label, x, *ends)
            is_area = panel.interval == "area" and kind == "line"
            (areas if is_area else expected).append(row)
            if one.is_across:
                cuts += [(one.label, ends[0], y, "triangle-left")] * int(low < limits[0])
                cuts += [(one.label, ends[1], y, "triangle-right")] * int(high > limits[1])
            else:
                cuts += [(one.label, x, ends[0], "triangle-down")] * int(low < limits[0])
                cuts += [(one.label, x, ends[1], "triangle-up")] * int(high > limits[1])
            if kind == "line" and is_beyond_axis(panel, y):  # an arrow for the value itself
                edge, shape = (0, "triangle-down") if y < limits[0] else (1, "triangle-up")
                cuts.append((one.label, x, limits[edge], shape))
        is_across = any(one.is_across for one in panel.series)
        channels = ("x", "x2", "y") if is_across else ("x", "y", "y2")
        rules = [m for m in series_marks(marks, "rule") if "strokeDash" not in m.encoding]
        same([(m.datum["label"], *at(m, *channels)) for m in rules], expected)
        filled = series_marks(marks, "area")
        same([(m.datum["label"], *at(m, "x", "y", "y2")) for m in filled], areas)
        arrows = [m for m in series_marks(marks, "point") if "shape" in m.look]
        same([(m.datum["label"], *at(m, "x", "y"), m.look["shape"]) for m in arrows], cuts)


def test_bands_and_levels(charts):
    for panel, marks, _ in panels_of(charts):
        (left, right), (low, high) = fit_x(panel), fit_y(panel)
        sides = [
            (*np.clip([b.left, b.right], left, right), *np.clip([b.low, b.high], low, high),
             b.colour or NEUTRAL)
            for b in panel.bands
        ]  # fmt: skip
        boxes = [m for m in marks if m.kind == "rect"]
        same([at(m, "x", "x2", "y", "y2", "color") for m in boxes], sides)
        lines = [m for m in marks if m.kind == "rule" and "strokeDash" in m.look]
        found = [(*at(m, "x", "y"), str(m.look["strokeDash"])) for m in lines]
        levels = [one for one in panel.levels if math.isfinite(one.value)]
        values = [(one.value, str(page.DASHES[one.dash]), one.axis) for one in levels]
        rows = [(x if y is None else y, dash, "x" if y is None else "y") for x, y, dash in found]
        same(rows, values)
        texts = [m.at["text"] for m in marks if m.kind == "text" and "at" in m.datum]
        above = list(panel.x.top_ticks.values())
        assert sorted(texts) == sorted([*(one.text for one in levels if one.text), *above])


def test_names_stand_beside_marks_and_ties_lead_to_them(charts):
    for panel, marks, _ in panels_of(charts):
        expected = []
        for _, one, index, x, y in values_of(panel):
            if find(one.names, index, ""):
                expected.append((one.names[index], one.run, one.label, x, y))
        names = [m for m in marks if m.kind == "text" and "mark_x" in m.datum]
        same(
            [
                (m.at["text"], *(m.datum[name] for name in ("run", "label", "mark_x", "mark_y")))
                for m in names
            ],
            expected,
        )
        ties = [m for m in marks if m.kind == "rule" and "mark_x" in m.datum]
        assert [at(m, "x", "y") for m in ties] == [at(m, "x", "y") for m in names]
        assert [at(m, "x2", "y2") for m in ties] == [
            [m.datum["mark_x"], m.datum["mark_y"]] for m in names
        ]
        colours = {one.label: colour_of(one.look) for one in panel.series}
        assert all(m.at["color"] == colours[m.datum["label"]] for m in ties)
        (left, right), (low, high) = fit_x(panel), fit_y(panel)
        assert all(left <= m.at["x"] <= right and low <= m.at["y"] <= high for m in names)


def test_rings_faint_values_and_hollow_points(charts):
    for panel, marks, _ in panels_of(charts):
        rings, faint, hollow = [], [], []
        for kind, one, index, x, y in values_of(panel):
            if kind == "line" and is_beyond_axis(panel, y):
                continue
            rings += [(x, y)] if kind == "line" and one.x[index] == one.ring_at else []
            faint += [(one.label, x, y)] if find(one.is_faint, index, False) else []
            hollow += [(one.label, x, y)] if kind == "point" and one.is_hollow else []
        drawn = [m for m in series_marks(marks, "point") if m.look.get("filled") is False]
        same([at(m, "x", "y") for m in drawn], rings)
        shown = [m for m in series_marks(marks, "circle", "point") if "tooltip" in m.encoding]
        shown = [m for m in shown if "shape" not in m.look]
        pale = [m for m in shown if m.at["opacity"] == 0.3]
        same([(m.datum["label"], *at(m, "x", "y")) for m in pale], faint)
        empty = [m for m in shown if m.at.get("fillOpacity") == 0.0]
        same([(m.datum["label"], *at(m, "x", "y")) for m in empty], hollow)


def test_lines_are_pale_from_and_to_faint_marks(charts):
    """A pale line runs through all marks; segments between others are drawn on it."""
    for panel, marks, _ in panels_of(charts):
        pale = {one.label for one in panel.series if one.mark == "line" and any(one.is_faint)}
        expected = []
        for one, x, y in drawn_places(panel, "line"):
            x = np.clip(x, *fit_x(panel))
            for a, b in pairwise(range(len(x)) if any(one.is_faint) else ()):
                if not (one.is_faint[a] or one.is_faint[b]) and math.isfinite(y[a] + y[b]):
                    expected.append((one.label, x[a], y[a], x[b], y[b]))
        drawn = [m for m in series_marks(marks, "rule") if "strokeDash" in m.encoding]
        same([(m.datum["label"], *at_ends(m)) for m in drawn], expected)
        lines = [m for m in marks if m.kind == "line" and m.datum["label"] in pale]
        assert all(m.look["opacity"] == page.PALE for m in lines)


def at_ends(mark: Mark) -> list:
    return at(mark, "x", "y", "x2", "y2")


def test_axes_titles_and_texts(charts):
    for panel, marks, spec in panels_of(charts):
        title = spec["title"]
        assert (title if isinstance(title, str) else "\n".join(title)) == panel.title
        for name, axis, limits in (("x", panel.x, fit_x(panel)), ("y", panel.y, fit_y(panel))):
            channels = [m.encoding[name] for m in marks if "axis" in m.encoding.get(name, {})]
            for channel in channels:
                scale = channel["scale"]
                assert scale["domain"] == pytest.approx(list(limits))
                assert (scale["type"], scale["reverse"]) == (axis.scale, axis.is_reversed)
                title = axis.title + SCALES[axis.scale] if axis.title else ""
                assert "\n".join(channel["axis"]["title"] or []) == title
                if axis.ticks:
                    assert channel["axis"]["values"] == list(axis.ticks)
                    expression = channel["axis"]["labelExpr"]
                    assert all(json.dumps(text) in expression for text in axis.ticks.values())
        texts = ["\n".join(m.look["text"]) for m in marks if isinstance(m.look.get("text"), list)]
        assert texts == [text for text in (panel.text, panel.message) if text]
        for m in marks:
            if m.kind == "text":  # in the ink of the page, never in the colour of a series
                assert "color" not in m.encoding
                assert "color" not in m.look
                assert m.look["fontSize"] == LETTERS


def test_legends_name_series_levels_and_bands_once(charts):
    for plot, chart in charts:
        expected = set()
        for panel in plot.panels:
            expected |= {(s.label, colour_of(s.look), s.run) for s in panel.series}
            levels = [one for one in panel.levels if math.isfinite(one.value)]
            expected |= {(one.label, NEUTRAL, "") for one in levels}
            expected |= {(one.label, one.colour or NEUTRAL, "") for one in panel.bands}
        expected |= {(text, NEUTRAL, "") for text in plot.sizes}
        found = [(key.label, key.colour, key.run) for key in chart.legend]
        assert sorted(set(found)) == sorted(one for one in expected if one[0])
        assert len(chart.legend) == len(set(chart.legend))
        assert all(key.symbol or key.dash or key.radius for key in chart.legend)


def test_a_chart_is_json_and_its_page_can_be_packed(charts):
    for plot, chart in charts:
        assert (chart.name, chart.caption) == (plot.name, plot.caption)
        assert chart.spec["description"] == plot.title
        json.dumps({"spec": chart.spec, "rows": chart.rows}, allow_nan=False)
        for name, values in chart.columns.items():
            assert values == [row.get(name) for row in chart.rows]


def svg(chart: page.Chart, hidden=(), without=()) -> str:
    """Draw a chart with Vega: with runs switched off, or without the values of runs."""
    rows = [row for row in chart.rows if row.get("run") not in without]
    spec = json.loads(json.dumps(chart.spec))
    spec["params"] = [{**one, "value": list(hidden)} for one in spec["params"]]
    for layer in (layer for panel in spec["concat"] for layer in panel["layer"]):
        if "data" in layer:
            values = layer["data"]["values"]
            layer["data"]["values"] = [v for v in values if v.get("run", "") not in without]
    drawn = vl_convert.vegalite_to_svg({**spec, "datasets": {"rows": rows}})
    return re.sub(r"clip\d+", "clip", drawn)  # numbered on from chart to chart


def test_a_switch_acts_in_every_layer_of_every_chart(charts):
    """A chart with a method switched off is the chart of the rows without it."""
    for plot, chart in charts:
        runs = list(dict.fromkeys(row["run"] for row in chart.rows if row.get("run")))
        run = runs[len(plot.name) % len(runs)]
        assert svg(chart, hidden=[run]) == svg(chart, without=[run]), plot.name
        assert svg(chart, hidden=[run]) != svg(chart), plot.name

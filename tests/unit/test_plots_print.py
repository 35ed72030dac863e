"""What matplotlib draws of every plot is what the plot has."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from expected_pictures import Long
from made_benchmark import folder_of
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from collateral.plots import print as printed
from collateral.plots.names import LETTERS, find_name_places
from collateral.plots.plot import (
    Axis,
    Band,
    Formula,
    Level,
    Panel,
    Plot,
    Series,
    fit_x,
    fit_y,
    is_beyond_axis,
)
from collateral.plots.style import DARK, Look, control_look, method_look

DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "dash-dot": "-."}
GREY = "#e0e0e0"


@pytest.fixture(scope="module", params=("made", "cifar-small", "cifar-teacher"))
def figures(request):
    """Every plot of a benchmark with its figure."""
    return [(plot, printed.draw(plot)) for plot in Long(folder_of(request)).plots().values()]


def panels_of(figures):
    """Yield every panel with its axes."""
    for plot, figure in figures:
        axes = [one for one in figure.axes if one.get_visible()]
        yield from zip(plot.panels, axes, strict=True)


def same(found, expected) -> None:
    """Compare rows of numbers, whatever their order; a row with a NaN is not drawn."""
    found, expected = (
        sorted(tuple(map(float, row)) for row in rows if np.isfinite(list(row)).all())
        for rows in (found, expected)
    )
    assert len(found) == len(expected)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9)


def shifts_of(panel: Panel) -> np.ndarray:
    """Return how far the series of one place are moved apart."""
    count = len(panel.series)
    bars = [one for one in panel.series if one.mark == "bar"]
    if len(bars) > 1:
        step = 0.84 / count  # bars stand at whole numbers
        return (np.arange(count) - (count - 1) / 2) * step
    return np.linspace(-panel.dodge / 2, panel.dodge / 2, count) if count > 1 else np.zeros(count)


def drawn_places(panel: Panel, mark: str, *, is_clipped=True):
    """Yield every series of a kind of mark, and where its values are drawn."""
    for one, shift in zip(panel.series, shifts_of(panel), strict=True):
        if one.mark == mark:
            x, y = np.array(one.x, float) + shift, np.array(one.y, float)
            if not one.sets_scale:
                x = np.clip(x, *fit_x(panel))
            # A line keeps its values: the frame cuts it.
            yield one, x, np.clip(y, *fit_y(panel)) if is_clipped and mark != "line" else y


def is_data(axes, artist) -> bool:
    return artist.get_transform() == axes.transData


def test_lines(figures):
    for panel, axes in panels_of(figures):
        lines = [one for one in axes.lines if is_data(axes, one) and one.get_linestyle() != "None"]
        lines = [one for one in lines if len(one.get_xdata())]  # others are marks of the legend
        expected = list(drawn_places(panel, "line"))
        counts = [len(x) - 1 if len(series.areas) else 1 for series, x, _ in expected]
        assert len(lines) == sum(counts)
        left = iter(lines)
        for count, (series, x, y) in zip(counts, expected, strict=True):
            parts = list(itertools.islice(left, count))
            if not parts:
                continue
            line, ends = parts[0], [part.get_xydata() for part in parts]
            joined = np.vstack([*(end[:1] for end in ends[:-1]), ends[-1]])
            np.testing.assert_allclose(joined, np.column_stack([x, y]))
            look = to_hex(line.get_color()), line.get_linestyle(), line.get_marker()
            marker = "" if len(series.areas) else series.look.marker
            assert look == (series.look.colour, DASHES[series.look.dash], marker)
            is_named = line.get_label() == series.label.replace("$", r"\$")
            assert not series.label or is_named == (not len(series.areas))
            is_inside = all(not math.isfinite(v) or not is_beyond_axis(panel, v) for v in y)
            assert line.get_clip_on() == (not is_inside or not series.sets_scale)


def is_weighted(series: Series) -> bool:
    """Tell whether the marks of a line have areas."""
    return series.mark == "line" and bool(len(series.areas) and series.look.marker)


def test_points(figures):
    for panel, axes in panels_of(figures):
        clouds = [c for c in axes.collections if isinstance(c, PathCollection)]
        clouds = [c for c in clouds if len(c.get_offsets())]
        drawn = {id(row[0]): row for mark in ("line", "point") for row in drawn_places(panel, mark)}
        with_marks = [one for one in panel.series if one.mark == "point" or is_weighted(one)]
        for cloud, (series, x, y) in zip(
            clouds, (drawn[id(one)] for one in with_marks), strict=True
        ):
            is_drawn = [not is_weighted(series) or not is_beyond_axis(panel, v) for v in y]
            places = np.column_stack([x, np.where(is_drawn, y, np.nan)])
            places[np.isnan(places).any(axis=1)] = np.nan
            found = np.ma.filled(cloud.get_offsets(), np.nan)
            found[np.isnan(found).any(axis=1)] = np.nan
            np.testing.assert_allclose(found, places)
            if len(series.areas):
                assert list(cloud.get_sizes()) == pytest.approx(list(series.areas))
            assert (len(cloud.get_facecolor()) == 0) == series.is_hollow
            colour = cloud.get_edgecolor() if series.is_hollow else cloud.get_facecolor()
            assert to_hex(colour[0]) == series.look.colour


def test_bars(figures):
    for panel, axes in panels_of(figures):
        groups = [c for c in axes.containers if isinstance(c, BarContainer)]
        expected = list(drawn_places(panel, "bar", is_clipped=False))
        for group, (_, x, y) in zip(groups, expected, strict=True):
            boxes = [(b.get_x() + b.get_width() / 2, b.get_height()) for b in group.patches]
            np.testing.assert_allclose(boxes, np.column_stack([x, y]))
        lefts = sorted((b.get_x(), b.get_width()) for g in groups for b in g.patches)
        pairs = itertools.pairwise(lefts)
        assert all(a + width <= b + 1e-9 for (a, width), (b, _) in pairs), "bars overlap"


def test_intervals(figures):
    for panel, axes in panels_of(figures):
        across, upright = [], []
        for mark in ("line", "point", "bar"):
            for one, x, _ in drawn_places(panel, mark):
                ends = list(zip(one.low, one.high, strict=True))
                if one.is_across:
                    across += [(y, *end) for y, end in zip(one.y, ends, strict=True)]
                elif panel.interval == "bars" or mark != "line":
                    upright += [(at, *end) for at, end in zip(x, ends, strict=False)]
        segments = [
            s
            for c in axes.collections
            if isinstance(c, LineCollection)
            for s in c.get_segments()
            if len(s)
        ]
        is_flat = [s[0][1] == s[1][1] and s[0][0] != s[1][0] for s in segments]
        flat = [(s[0][1], s[0][0], s[1][0]) for s, f in zip(segments, is_flat, strict=True) if f]
        same(flat, across)
        others = [s for s, f in zip(segments, is_flat, strict=True) if not f]
        same([(s[0][0], s[0][1], s[1][1]) for s in others], upright)


def test_areas(figures):
    for panel, axes in panels_of(figures):
        areas = [c for c in axes.collections if isinstance(c, PolyCollection)]
        lines = [row for row in drawn_places(panel, "line") if len(row[0].low)]
        if panel.interval == "bars":
            assert not areas
            continue
        for area, (series, x, _) in zip(areas, lines, strict=True):
            assert to_hex(area.get_facecolor()[0]) == series.look.colour
            vertices = [tuple(v) for path in area.get_paths() for v in path.vertices]
            for at, low, high in zip(x, series.low, series.high, strict=True):
                if math.isfinite(low + high):
                    for end in np.clip([low, high], *fit_y(panel)):
                        assert any(np.allclose(v, (at, end), rtol=1e-9) for v in vertices)


def test_arrows_where_the_axis_cuts_an_interval(figures):
    for panel, axes in panels_of(figures):
        bottom, top = fit_y(panel)
        expected = []
        for mark in ("line", "point", "bar"):
            for one, x, _ in drawn_places(panel, mark):
                if len(one.low) and not one.is_across:
                    expected += [
                        (at, bottom) for at, e in zip(x, one.low, strict=True) if e < bottom
                    ]
                    expected += [(at, top) for at, e in zip(x, one.high, strict=True) if e > top]
        left, right = fit_x(panel)
        for one in (one for one in panel.series if one.is_across):
            ends = list(zip(one.y, one.low, one.high, strict=True))
            expected += [(left, y) for y, low, _ in ends if low < left]
            expected += [(right, y) for y, _, high in ends if high > right]
        for _, x, y in drawn_places(panel, "line"):  # values beyond the axis have arrows too
            expected += [(at, bottom) for at, value in zip(x, y, strict=True) if value < bottom]
            expected += [(at, top) for at, value in zip(x, y, strict=True) if value > top]
        arrows = [
            line
            for line in axes.lines
            if line.get_marker() in "v^<>" and line.get_markersize() == printed.ARROW
        ]
        same([xy for one in arrows for xy in one.get_xydata()], expected)


def test_levels(figures):
    for panel, axes in panels_of(figures):
        lines = [one for one in axes.lines if not is_data(axes, one)]
        levels = [one for one in panel.levels if math.isfinite(one.value)]
        for line, level in zip(lines, levels, strict=True):
            data = line.get_ydata() if level.axis == "y" else line.get_xdata()
            assert list(data) == [level.value, level.value]
            assert line.get_linestyle() == DASHES[level.dash]
            assert not level.label or line.get_label() == level.label
            assert not level.text or level.text in {text.get_text() for text in axes.texts}


def test_bands(figures):
    for panel, axes in panels_of(figures):
        bars = [bar for c in axes.containers if isinstance(c, BarContainer) for bar in c.patches]
        boxes = [p for p in axes.patches if isinstance(p, Rectangle) and p not in bars]
        limits = (*fit_x(panel), *fit_y(panel))
        for box, band in zip(boxes, panel.bands, strict=True):
            x, y = box.get_xy()
            sides = (x, x + box.get_width(), y, y + box.get_height())
            left, right = np.clip([band.left, band.right], *limits[:2])
            low, high = np.clip([band.low, band.high], *limits[2:])
            assert sides == pytest.approx((left, right, low, high))
            assert to_hex(box.get_facecolor()) == (band.colour or GREY)
            assert box.get_alpha() == band.opacity


def test_axes(figures):
    for panel, axes in panels_of(figures):
        is_reversed = panel.x.is_reversed
        assert axes.get_xlim() == pytest.approx(fit_x(panel)[:: -1 if is_reversed else 1])
        assert axes.get_ylim() == pytest.approx(fit_y(panel)[:: -1 if panel.y.is_reversed else 1])
        assert axes.get_xscale() == panel.x.scale
        assert axes.get_yscale() == panel.y.scale
        assert axes.get_ylabel() == panel.y.title and axes.get_title() == panel.title
        for one, axis in ((axes.xaxis, panel.x), (axes.yaxis, panel.y)):
            if axis.ticks:
                texts = [text.get_text() for text in one.get_ticklabels()]
                assert texts == list(axis.ticks.values())
                assert list(one.get_ticklocs()) == list(axis.ticks)
        for top in axes.child_axes:
            ticks = zip(top.get_xticks(), top.get_xticklabels(), strict=True)
            assert {x: label.get_text() for x, label in ticks} == panel.x.top_ticks
        assert bool(axes.child_axes) == bool(panel.x.top_ticks)
        texts = {text.get_text() for text in axes.texts}
        assert {panel.text, panel.message} - {""} <= texts


def test_the_lowest_panel_of_a_column_names_the_horizontal_axis(figures):
    for plot, figure in figures:
        axes = [one for one in figure.axes if one.get_visible()]
        for place, (panel, one) in enumerate(zip(plot.panels, axes, strict=True)):
            if place + plot.columns >= len(plot.panels):
                assert one.get_xlabel() == panel.x.title


def test_names_are_written_in_their_colours(figures):
    for panel, axes in panels_of(figures):
        expected = {
            (name, one.look.colour)
            for one in panel.series
            for name, x, y in zip(one.names, one.x, one.y, strict=False)
            if name and math.isfinite(x + y)
        }
        written = {(text.get_text(), to_hex(text.get_color())) for text in axes.texts}
        assert expected <= written


def test_the_names_of_retrain_and_of_the_base_stand_at_their_own_marks(figures):
    """Not at each other's, as they once did in the figure of trajectories."""
    count = 0
    for panel, axes in panels_of(figures):
        marks = {one.label: (one.x[0], one.y[0]) for one in panel.series if any(one.names)}
        if {"Original", "Retrain"} <= marks.keys():
            texts = {text.get_text(): text for text in axes.texts if text.get_text() in marks}
            for name, other in (("Original", "Retrain"), ("Retrain", "Original")):
                box = texts[name].get_window_extent()
                centre = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
                own, far = (axes.transData.transform(marks[one]) for one in (name, other))
                assert np.hypot(*(centre - own)) < np.hypot(*(centre - far))
            count += 1
    assert count == sum(plot.name == "trajectory" for plot, _ in figures)


def test_rings(figures):
    for panel, axes in panels_of(figures):
        rings = [one for one in axes.lines if one.get_label() == "own value"]
        expected = [
            (one.ring_at, one.y[list(one.x).index(one.ring_at)])
            for one in panel.series
            if one.ring_at in one.x
        ]
        same([tuple(ring.get_xydata()[0]) for ring in rings], expected)


def legend_in_order(figure) -> list[str]:
    """Return the texts of the legend, row by row from left to right."""
    figure.draw_without_rendering()
    texts = [text for legend in figure.legends for text in legend.get_texts()]
    boxes = {text.get_text(): text.get_window_extent() for text in texts}
    middle = {name: round((box.y0 + box.y1) / 12) for name, box in boxes.items()}
    return sorted(boxes, key=lambda name: (-middle[name], boxes[name].x0))


def test_the_legend_has_series_then_levels_then_bands(figures):
    for plot, figure in figures:
        names = legend_in_order(figure)
        known = [s for p in plot.panels for s in p.series if s.label and np.isfinite(s.y).any()]
        series = [] if plot.names_are_legend else list(dict.fromkeys(s.label for s in known))
        bands = list(dict.fromkeys(b.label for p in plot.panels for b in p.bands if b.label))
        levels = {one.label for p in plot.panels for one in p.levels if one.label}
        assert names[: len(series)] == series
        sizes = [*plot.sizes]
        assert names[len(names) - len(bands) - len(sizes) :] == [*bands, *sizes]
        assert {*names} == {*series, *levels, *bands, *sizes} | ({"own value"} & {*names})


def test_neither_title_nor_caption_nor_notes_are_in_the_figure(figures):
    for plot, figure in figures:
        written = {text.get_text() for text in figure.findobj(Text)}
        assert not written & {plot.title, plot.caption, *plot.notes}
        assert not figure.get_suptitle() and not figure.get_supxlabel()


def test_every_text_has_at_least_six_points_at_the_width_of_a_paper(figures):
    for plot, figure in figures:
        assert figure.get_figwidth() <= 5.5
        sizes = [one.get_fontsize() for one in figure.findobj(Text) if one.get_text()]
        assert min(sizes) >= 6, plot.name


def test_the_legend_fits_the_figure_above_all_panels(figures):
    for plot, figure in figures:
        figure.draw_without_rendering()
        boxes = [legend.get_window_extent() for legend in figure.legends]
        assert all(box.x1 <= figure.bbox.width + 1 for box in boxes), plot.name
        panels = [one.get_tightbbox() for one in figure.axes if one.get_visible()]
        if boxes:
            assert max(panel.y1 for panel in panels) <= boxes[-1].y0 + 2, plot.name


def test_a_figure_is_as_wide_as_the_text_of_the_paper():
    assert printed.draw(small_plot()).get_figwidth() == pytest.approx(5.5)
    assert printed.draw(small_plot(), 6.75).get_figwidth() == pytest.approx(6.75)
    narrow = replace(small_plot(), width=2.75)
    assert printed.draw(narrow, 6.0).get_figwidth() == pytest.approx(3.0)


def test_a_line_is_transparent_from_and_to_a_bin_with_few_images():
    series = Series("a", method_look(0), [1, 2, 3, 4], [3, 4, 5, 6], areas=[9.0] * 4)
    faint = replace(series, is_faint=[False, False, True, False])
    opacity = {}
    for one in (series, faint):
        [axes] = printed.draw(Plot("p", "", "", [Panel([one])])).axes
        drawn = [line for line in axes.lines if len(line.get_xdata()) == 2]
        opacity[one is faint] = [line.get_alpha() for line in drawn]
    assert opacity == {False: [1.0] * 3, True: [1.0, printed.PALE_MARK, printed.PALE_MARK]}


def test_an_arrow_stands_where_the_axis_cuts_a_band():
    series = Series("a", method_look(0), [1, 2, 3], [3, 4, 5], low=[2, 1, 4], high=[4, 9, 6])
    panel = Panel([series], y=Axis(limits=(0.0, 8.0)), interval="area")
    [axes] = printed.draw(Plot("p", "", "", [panel])).axes
    arrows = [line for line in axes.lines if line.get_marker() in ("^", "v")]
    assert [line.get_xydata().tolist() for line in arrows] == [[[2.0, 8.0]]]


def test_a_name_does_not_cover_the_interval_of_another_mark():
    """The mark below has an interval that reaches over the place beside the mark above."""
    above = Series("a", method_look(0), [1.0], [5.0], mark="point", names=["a long name"])
    wall = [1.0 + step / 100 for step in range(1, 12)]
    ends = {"low": [0.0] * 11, "high": [9.0] * 11}
    below = Series("b", method_look(1), wall, [1.0] * 11, mark="point", **ends)
    panel = Panel([above, below], x=Axis(limits=(0.0, 3.0)), y=Axis(limits=(0.0, 10.0)))
    [name] = find_name_places(panel, 4.0, 3.0)
    axes = Figure(figsize=(4.0, 3.0)).add_axes((0, 0, 1, 1), xlim=(0.0, 3.0), ylim=(0.0, 10.0))
    text = axes.text(*name.place, "a long name", ha="center", fontsize=LETTERS)
    box = text.get_window_extent().transformed(axes.transData.inverted())
    assert box.x1 < wall[0] or box.x0 > wall[-1]


def small_plot(names=("a", "b")) -> Plot:
    """Return a plot with everything that can be drawn."""
    series = Series("A $x$ and $y$", method_look(0), [1, 2], [3, 4], "a", "point", [2, 3], [4, 5])
    panel = Panel([replace(series, names=names)], levels=[Level(3.0, label="level")])
    bands = [Band(low=2, high=3, label="band")]
    return Plot("small", "A $x$ title $y$", "A caption.", [replace(panel, bands=bands)])


def test_a_formula_is_typeset_and_a_class_name_is_not():
    series = Series("$x$", method_look(0), [1, 2], [3, 4])
    for text, is_math in ((Formula("$x^2$"), True), ("$x^2$", False)):
        figure = printed.draw(Plot("p", "", "", [Panel([series], text)]))
        [axes] = figure.axes
        assert (axes.get_title() == "$x^2$") == is_math
        figure.draw_without_rendering()


def test_a_cloud_of_many_points_is_an_image_in_the_pdf(tmp_path):
    def size_of(count: int) -> int:
        x = np.linspace(0.0, 1.0, count).tolist()
        cloud = Series("a", method_look(0), x, x, mark="point", areas=[4.0] * count)
        printed.save(printed.draw(Plot("p", "", "", [Panel([cloud])])), tmp_path / "p")
        return (tmp_path / "p.pdf").stat().st_size

    few, many = size_of(printed.MANY - 1), size_of(20 * printed.MANY)
    assert many < 3 * few  # as vectors, twenty times as many points are far larger


def test_areas_are_explained_in_the_legend():
    plot = replace(small_plot(), sizes={"a tenth": 22.0, "all": 220.0})
    figure = printed.draw(plot)
    [legend] = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[-2:] == ["a tenth", "all"]
    assert [float(one.get_sizes()[0]) for one in legend.legend_handles[-2:]] == [22.0, 220.0]


def test_dollar_signs_in_labels_are_printed_and_not_read_as_mathematics():
    figure = printed.draw(small_plot(["1 $x$", "2 $y$"]))
    figure.draw_without_rendering()
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {r"1 \$x\$", r"2 \$y\$"} <= texts
    assert figure.legends[0].get_texts()[0].get_text() == r"A \$x\$ and \$y\$"


def test_equal_plots_are_equal_files(tmp_path):
    for name in ("one", "two"):
        printed.save(printed.draw(small_plot()), tmp_path / name)
    for suffix in (".pdf", ".png"):
        one, two = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
        assert one == two


def test_names_cover_neither_one_another_nor_a_mark():
    places = [1.0, 1.02, 1.04, 3.0, 5.0]
    one = Series("A", method_look(0), places, [1.0, 1.01, 1.0, 2.0, 3.0], mark="point")
    one = replace(one, names=["first", "second", "third", "fourth", "fifth"], areas=[60.0] * 5)
    figure = printed.draw(Plot("crowd", "Crowd", "A caption.", [Panel([one])], row_height=3.0))
    [axes] = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
    assert len(boxes) == 5
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    marks = axes.transData.transform(np.column_stack([one.x, one.y]))
    assert not any(box.contains(*mark) for box in boxes for mark in marks)


def test_the_eleventh_method_has_the_first_colour_and_another_look():
    first, eleventh = method_look(0), method_look(10)
    assert first.colour == eleventh.colour
    assert (first.marker, first.dash) != (eleventh.marker, eleventh.dash)
    assert len({method_look(place) for place in range(30)}) == 30
    assert len({control_look(place) for place in range(3)}) == 3
    assert control_look(0).colour not in {method_look(place).colour for place in range(10)}


def test_an_interval_widens_an_axis_a_little_and_is_then_cut():
    look = Look(DARK)
    one = Series("A", look, [0, 1], [0.0, 10.0], low=[-50, 9], high=[1, 11])
    low, high = fit_y(Panel([one]))
    assert -5 < low < -1 and 11 <= high < 13
    collapsed = Series("B", look, [0, 1], [500.0, 500.0], sets_scale=False)
    assert fit_y(Panel([one, collapsed])) == (low, high)
    assert fit_y(Panel([collapsed], y=Axis(limits=(0, 1)))) == (0, 1)

"""The figure of the other classes, where whole ones are deleted."""

from itertools import combinations

import numpy as np
import pytest
from fake_results import full_cell, read_cell, whole_class_cell
from figure_reading import STUDENT_95, ends_of, legend_of, line_of, note_of
from matplotlib.colors import to_rgb
from matplotlib.container import ErrorbarContainer
from matplotlib.transforms import Bbox

from collateral.findings._shared.style import COLOURS, NOISE_LABEL
from collateral.findings.classes.figure import draw, figures
from collateral.results.plan import BenchmarkPlan


@pytest.fixture(scope="module")
def figure_of(tmp_path_factory):
    """Return a function: a fake cell in, its figure out."""

    def build(fake, plan=None):
        return draw(read_cell(tmp_path_factory.mktemp("cell"), fake, plan))

    return build


@pytest.fixture(scope="module")
def figure(figure_of):
    """The figure of FT, GA, RL and Original; tests leave it as it is."""
    return figure_of(whole_class_cell())


def panels_of(figure):
    return {axes.get_title(): axes for axes in figure.axes if axes.get_visible()}


def marks_of(axes):
    """Return the marks of a panel, and (x, low, high) of their error bars."""
    [container] = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    return container.lines[0], ends_of(container.lines[2][0].get_segments())


def noise_of(axes):
    found = [c for c in axes.collections if c.get_label() == NOISE_LABEL]
    return ends_of([segment for lines in found for segment in lines.get_segments()])


def names_in(axes):
    return [text for text in axes.texts if "slope" not in text.get_text()]


def test_it_is_drawn_for_whole_classes_only(tmp_path):
    assert not list(figures(read_cell(tmp_path, full_cell())))
    [picture] = figures(read_cell(tmp_path, whole_class_cell(runs=("ga",))))
    assert picture.name == "classes"


def test_every_method_and_control_has_a_panel(figure):
    assert list(panels_of(figure)) == ["FT", "GA", "RL", "Original"]
    assert legend_of(figure) == ["Linear fit", NOISE_LABEL]


def test_at_most_four_panels_stand_in_a_row(figure_of):
    runs = {run: run for run in ("ft", "ga", "rl", "iu", "salun", "original")}
    figure = figure_of(whole_class_cell(runs=tuple(runs)), BenchmarkPlan(runs))
    assert list(panels_of(figure)) == list(runs)
    assert figure.axes[0].get_gridspec().get_geometry() == (2, 4)


def test_a_mark_is_a_kept_class_at_its_similarity_and_drop(figure):
    for axes, colour in zip(figure.axes, COLOURS[:3], strict=False):
        marks, _ = marks_of(axes)
        assert marks.get_xdata() == pytest.approx(np.arange(9) / 10)
        assert marks.get_ydata() == pytest.approx(np.arange(9))  # in points
        assert to_rgb(marks.get_color()) == to_rgb(colour)


def test_bars_are_student_intervals_over_seeds(figure):
    # Seeds lie one point apart: a standard deviation of 1, of the mean 1 / sqrt(3).
    half = STUDENT_95 / np.sqrt(3)
    for axes in figure.axes:
        _, bars = marks_of(axes)
        assert bars[:, 0] == pytest.approx(np.arange(9) / 10)
        assert bars[:, 1] == pytest.approx(np.arange(9) - half)
        assert bars[:, 2] == pytest.approx(np.arange(9) + half)
    assert "Error bars: 95 % Student-t interval over 3 seeds." in note_of(figure)


def test_each_class_has_its_noise(figure_of):
    fake = whole_class_cell(runs=("ga",))
    for row in fake.metrics:
        if row["metric"] == "class_drop_sd":
            row["value"] = str(0.01 * (1 + int(row["at"].removeprefix("digit_"))))
    bars = noise_of(figure_of(fake).axes[0])
    halves = STUDENT_95 * np.arange(1, 10)
    assert bars[:, 0] == pytest.approx(np.arange(9) / 10)
    assert bars[:, 1] == pytest.approx(-halves)
    assert bars[:, 2] == pytest.approx(halves)


def test_the_dashed_line_has_the_slope_of_the_metrics(figure):
    fit = line_of(figure.axes[1], "Linear fit")
    assert fit.get_linestyle() == "--"
    assert np.polyfit(*fit.get_data(), 1) == pytest.approx([10, 0], abs=1e-9)  # 0.1 in points


def test_the_dashed_line_goes_through_the_mean_of_the_classes(figure_of):
    fake = whole_class_cell(runs=("ga",))
    for row in fake.metrics:
        if row["metric"] == "class_slope":
            row["value"] = "0.2"
    fit = line_of(figure_of(fake).axes[0], "Linear fit")
    assert np.polyfit(*fit.get_data(), 1) == pytest.approx([20, 4 - 20 * 0.4])


def test_the_corner_tells_the_slope_and_its_interval(figure):
    texts = [text.get_text() for text in figure.axes[1].texts]
    assert "slope 1.00 [0.50, 1.50]\npoints per 0.1" in texts


def test_names_are_told_without_what_they_share(figure):
    assert {name.get_text() for name in names_in(figure.axes[0])} == set("012345678")


def test_a_name_stands_at_its_own_mark(figure):
    for name in names_in(figure.axes[0]):
        assert name.xy == pytest.approx((int(name.get_text()) / 10, int(name.get_text())))


def test_names_hide_neither_one_another_nor_a_mark(figure):
    for axes in figure.axes:
        boxes = [name.get_window_extent() for name in names_in(axes)]
        marks = axes.transData.transform(marks_of(axes)[0].get_xydata())
        assert len(boxes) == len(marks) == 9
        assert not [pair for pair in combinations(boxes, 2) if Bbox.intersection(*pair)]
        assert not [box for box in boxes for mark in marks if box.contains(*mark)]


def test_of_many_classes_the_farthest_from_zero_are_named_where_there_is_room(figure_of):
    axes = figure_of(whole_class_cell(num_classes=40, runs=("ga",))).axes[0]
    named = {int(name.get_text()) for name in names_in(axes)}
    assert 38 in named
    assert named <= set(range(27, 39))
    boxes = [name.get_window_extent() for name in names_in(axes)]
    assert not [pair for pair in combinations(boxes, 2) if Bbox.intersection(*pair)]


def test_one_seed_has_no_interval_and_no_noise(figure_of):
    axes = figure_of(whole_class_cell(num_seeds=1, runs=("ga",))).axes[0]
    _, bars = marks_of(axes)
    assert (bars[:, 1] == bars[:, 2]).all()
    assert len(noise_of(axes)) == 0
    assert "slope 1.00\npoints per 0.1" in [text.get_text() for text in axes.texts]


def test_a_class_without_a_drop_is_not_drawn(figure_of):
    fake = whole_class_cell(runs=("ga",))
    for row in fake.metrics:
        if (row["metric"], row["at"]) == ("class_drop", "digit_4"):
            row["value"] = ""
    axes = figure_of(fake).axes[0]
    assert {name.get_text() for name in names_in(axes)} == set("01235678")
    assert len(marks_of(axes)[0].get_xdata()) == 8

"""Ablations drawn: a line through the values of a parameter, where they are numbers."""

import math

import numpy as np
import pytest
from fake_results import RUNS, FakeCell, read_cell
from figure_reading import (
    STUDENT_95,
    error_bars_of,
    labels_of,
    legend_of,
    line_of,
    note_of,
    pieces_of,
    points_of,
    span_of,
    title_of,
)

from collateral.findings._shared.style import COLOURS, NOISE_LABEL
from collateral.findings.sweeps.figure import figures
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep

ACCURACIES = ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected")
HALF = 1 / math.sqrt(3)  # a standard error: seeds lie one point apart


def sweep(name="s", key="lr", **values):
    """Return a sweep of `ga`; runs are named by the names of the values."""
    runs = {"ga" if name == "own" else f"ga@{key}={name}": v for name, v in values.items()}
    return Sweep(name, "GA", key, "ga", runs, {run: str(value) for run, value in runs.items()})


NUMBERS = sweep(own=0.1, **{"1": 1.0, "0.01": 0.01})
WORDS = sweep("kinds", key="kind", hard="hard", own="soft")


def fake(**ua: float) -> FakeCell:
    """Return a cell with three seeds; a run's UA is given, by seed 1 point more and less.

    The other accuracies are 10 points less each, in their order.
    """
    cell = FakeCell()
    for run, value in ua.items():
        for place, metric in enumerate(ACCURACIES):
            center = value - 0.1 * place
            cell.add(run, metric, center - 0.01, center, center + 0.01)
    for place, metric in enumerate(ACCURACIES):
        cell.add_overall("retrain", "floor", 0.01 * (place + 1), at=metric)
    return cell


def numeric() -> FakeCell:
    return fake(retrain=0.85, ft=0.9, ga=0.8, **{"ga@lr=1": 0.95, "ga@lr=0.01": 0.75})


@pytest.fixture
def pictures_of(tmp_path):
    """Return a function: a fake cell and its sweeps in, the figures by name out."""

    def build(cell: FakeCell, *sweeps: Sweep):
        runs = {run: run for sweep in sweeps for run in sweep.values} | RUNS
        plan = BenchmarkPlan(RUNS | runs, None, {cell.name: CellPlan(sweeps)})
        return {picture.name: picture for picture in figures(read_cell(tmp_path, cell, plan))}

    return build


@pytest.fixture
def figure(pictures_of):
    """The figure of UA, RA, TA and MIA over three values."""
    return pictures_of(numeric(), NUMBERS)["sweep-s-standard"].figure


def test_numbers_have_figures_and_words_have_none(pictures_of):
    cell = numeric()
    for metric in ACCURACIES:
        cell.add("ga@kind=hard", metric, 0.1, 0.2, 0.3)
    drawn = pictures_of(cell, WORDS, NUMBERS)
    assert list(drawn) == ["sweep-s-standard", "sweep-s-affected"]
    assert not pictures_of(numeric())


@pytest.mark.parametrize("value", [True, "auto"])
def test_a_value_that_is_no_number_makes_it_a_sweep_of_words(pictures_of, value):
    assert not pictures_of(numeric(), sweep(own=0.1, **{"1": 1.0, "0.01": value}))


def test_a_line_goes_through_the_means_from_left_to_right(figure):
    panels = figure.axes
    assert [panel.get_title() for panel in panels] == ["UA (%)", "RA (%)", "TA (%)", "MIA (%)"]
    assert {panel.get_xlabel() for panel in panels} == {"lr"}
    for place, panel in enumerate(panels):
        x, y = points_of(panel, "GA")
        assert x.tolist() == [0.01, 0.1, 1.0]
        assert y == pytest.approx(np.array([75, 80, 95]) - 10 * place)
        assert line_of(panel, "GA").get_color() == COLOURS[1]  # as everywhere


def test_error_bars_are_standard_errors(figure):
    for place, panel in enumerate(figure.axes):
        bars = error_bars_of(panel, "GA")
        means = np.array([75, 80, 95]) - 10 * place
        assert bars == pytest.approx(np.array([[0.01, 0.1, 1.0], means - HALF, means + HALF]).T)
    assert "Error bars: standard error over 3 seeds." in note_of(figure)


def test_each_panel_has_its_own_level_and_noise(figure):
    for place, panel in enumerate(figure.axes):
        level = 85 - 10 * place
        half = (place + 1) * STUDENT_95 * math.sqrt(math.pi / 2)
        assert line_of(panel, "Retrain").get_linestyle() == "--"
        assert line_of(panel, "Retrain").get_ydata() == pytest.approx([level, level])
        assert span_of(panel, NOISE_LABEL) == pytest.approx((level - half, level + half))


def test_a_ring_marks_the_own_value(figure):
    for place, panel in enumerate(figure.axes):
        ring = line_of(panel, "own value")
        assert ring.get_xdata() == pytest.approx([0.1])
        assert ring.get_ydata() == pytest.approx([80 - 10 * place])
        assert (ring.get_marker(), ring.get_markerfacecolor()) == ("o", "none")


def test_an_own_value_that_is_not_known_has_no_ring(pictures_of):
    drawn = pictures_of(numeric(), sweep(own=None, **{"1": 1.0, "0.01": 0.01}))
    panel = drawn["sweep-s-standard"].figure.axes[0]
    assert points_of(panel, "GA")[0].tolist() == [0.01, 1.0]
    assert "own value" not in labels_of(panel)


def test_the_legend_names_the_method_its_own_value_retrain_and_the_noise(figure):
    assert legend_of(figure) == ["GA", "own value", "Retrain", NOISE_LABEL]
    assert title_of(figure) == "digit_3, 50 % forgotten: GA, lr varied"


@pytest.mark.parametrize(("largest", "scale"), [(1.0, "log"), (0.09, "linear")])
def test_values_that_span_a_decade_have_a_logarithmic_axis(pictures_of, largest, scale):
    drawn = pictures_of(numeric(), sweep(own=0.05, **{"1": largest, "0.01": 0.01}))
    assert len(drawn) == 2
    for picture in drawn.values():
        assert {panel.get_xscale() for panel in picture.figure.axes} == {scale}


def test_a_teachers_accuracy_and_epochs_have_figures_of_their_own(pictures_of):
    cell = numeric()
    for place, run in enumerate(("ga@lr=0.01", "ga", "ga@lr=1")):
        cell.add(run, "teacher_ua", *[0.3 + place / 10] * 3)
        cell.add(run, "teacher_epochs", 4 + place, 5, 6)
    drawn = pictures_of(cell, NUMBERS)
    assert list(drawn)[2:] == ["sweep-s-teacher_accuracy", "sweep-s-teacher_epochs"]
    (accuracy,), (lasted,) = (drawn[name].figure.axes for name in list(drawn)[2:])
    assert points_of(accuracy, "GA")[1] == pytest.approx([30, 40, 50])
    assert line_of(accuracy, "Retrain").get_ydata()[0] == pytest.approx(85)  # its UA
    assert points_of(lasted, "GA")[1] == pytest.approx([5, 16 / 3, 17 / 3])
    bars = error_bars_of(lasted, "GA")
    assert bars[0, 1:] == pytest.approx((5 - HALF, 5 + HALF))
    assert "Retrain" not in labels_of(lasted)
    assert lasted.get_ylim()[0] == 0


def test_a_teacher_that_all_values_share_is_not_drawn(pictures_of):
    cell = numeric()
    for run in ("ga@lr=0.01", "ga", "ga@lr=1"):
        cell.add(run, "teacher_ua", 0.3, 0.4, 0.5)
    assert len(pictures_of(cell, NUMBERS)) == 2


def test_a_value_whose_seeds_all_collapsed_is_named_and_not_drawn(pictures_of):
    cell = numeric()
    for row in cell.metrics:
        if row["run"] == "ga@lr=1" and row["seed"]:
            row["status"] = "collapsed"
    figure = pictures_of(cell, NUMBERS)["sweep-s-standard"].figure
    assert points_of(figure.axes[0], "GA")[0].tolist() == [0.01, 0.1]
    assert "1.0 collapsed (3 of 3 seeds): not drawn." in note_of(figure)


@pytest.mark.parametrize(("run", "others"), [("ga@lr=1", [0.01, 0.1]), ("ga@lr=0.01", [0.1, 1])])
def test_a_value_without_a_number_is_a_gap_at_its_own_place(pictures_of, run, others):
    cell = numeric()
    for row in cell.metrics:
        if (row["run"], row["metric"]) == (run, "mia"):
            row["value"] = ""
    panel = pictures_of(cell, NUMBERS)["sweep-s-standard"].figure.axes[3]
    assert [line.get_xdata().tolist() for line in pieces_of(panel, "GA")] == [others]


def test_where_all_values_collapsed_retrain_is_drawn_alone(pictures_of):
    cell = numeric()
    for row in cell.metrics:
        if row["run"].startswith("ga") and row["seed"]:
            row["status"] = "collapsed"
    drawn = pictures_of(cell, NUMBERS)
    assert len(drawn) == 2
    for picture in drawn.values():
        assert legend_of(picture.figure) == ["Retrain", NOISE_LABEL]
        assert note_of(picture.figure).count("collapsed (3 of 3 seeds): not drawn.") == 3


def test_an_undefined_metric_is_an_empty_panel_that_says_so(pictures_of):
    cell = numeric()
    for row in cell.metrics:
        if row["metric"] == "ra_affected":
            row["value"] = ""
    first, *others = pictures_of(cell, NUMBERS)["sweep-s-affected"].figure.axes
    assert [text.get_text() for text in first.texts] == ["undefined"]
    assert len(first.get_yticks()) == 0
    assert len(others) == 2
    assert all(len(panel.get_yticks()) > 1 for panel in others)


def test_captions_say_what_is_varied_and_what_the_bars_are(pictures_of):
    cell = numeric()
    for place, run in enumerate(("ga@lr=0.01", "ga", "ga@lr=1")):
        cell.add(run, "teacher_ua", *[0.3 + place / 10] * 3)
        cell.add(run, "teacher_epochs", 4 + place, 5, 6)
    drawn = pictures_of(cell, NUMBERS)
    assert len(drawn) == 4
    for picture in drawn.values():
        assert "GA" in picture.caption and "lr" in picture.caption and "{" not in picture.caption
        assert "Error bars: standard error over seeds." in picture.caption


def test_teachers_of_other_seeds_are_points_and_no_line_goes_through_their_seeds(pictures_of):
    seeds = sweep(key="teacher_seed", own=None, **{"1": 1, "2": 2})
    cell = fake(retrain=0.5, ga=0.3, ft=0.4, **dict.fromkeys(list(seeds.values)[1:], 0.6))
    for run, ua in zip(seeds.values, (0.2, 0.6, 0.7), strict=True):
        cell.add(run, "teacher_ua", ua, ua, ua)
    [(name, picture)] = pictures_of(cell, seeds).items()
    assert name == "teacher-noise"
    points = line_of(picture.figure.axes[0], "GA")
    x, y = points.get_data()
    assert x == pytest.approx([20] * 3 + [60] * 3 + [70] * 3)
    assert y == pytest.approx([29, 30, 31, *[59, 60, 61] * 2])
    assert points.get_linestyle() == "None"

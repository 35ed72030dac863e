from itertools import combinations

import numpy as np
import pytest
from fake_results import RUNS, full_cell, whole_class_cell
from matplotlib.transforms import Bbox

from collateral.cli import main
from collateral.figures import affected, classes
from collateral.findings._shared.style import NOISE_LABEL, save
from collateral.results.table import cells, concatenate, read

STUDENT_95 = 4.302653  # t of two degrees of freedom: three seeds


@pytest.fixture(scope="module")
def cell_of(tmp_path_factory):
    """Return a function: a fake cell in, the cell as the stages read it out."""

    def build(fake, runs=RUNS):
        folder = tmp_path_factory.mktemp("cell")
        fake.write(folder)
        return cells(read(folder / "metrics.csv"), runs)[0]

    return build


@pytest.fixture(scope="module")
def figure(cell_of):
    """The figure of FT, GA, RL and Original; tests must leave it as it is."""
    return classes.draw(cell_of(whole_class_cell()), RUNS)


def panels_of(figure):
    return {axes.get_title(): axes for axes in figure.axes if axes.get_visible()}


def line_of(axes, style):
    [line] = [line for line in axes.get_lines() if line.get_linestyle() == style]
    return line


def names_in(axes):
    return [text for text in axes.texts if "slope" not in text.get_text()]


def test_the_stage_draws_it_for_whole_classes_only(tmp_path):
    fakes = [full_cell("digit_3-50"), whole_class_cell()]
    for fake in fakes:
        fake.write(tmp_path / fake.name)
    paths = [tmp_path / fake.name / "metrics.csv" for fake in fakes]
    concatenate(paths, tmp_path / "metrics.csv")
    words = ["--metrics", tmp_path / "metrics.csv", "--out", tmp_path / "figures"]
    main(["figures", *map(str, words), "--runs", '{"ga": "GA"}'])
    drawn = {path.parent.name for path in (tmp_path / "figures").glob("*/classes.png")}
    assert drawn == {"digit_9-100"}
    assert len(list((tmp_path / "figures").glob("*/similarity.png"))) == 2


def test_every_method_and_control_has_a_panel(figure):
    panels = panels_of(figure)
    assert list(panels) == ["FT", "GA", "RL", "Original"]


def test_at_most_four_panels_stand_in_a_row(cell_of):
    runs = ("ft", "ga", "rl", "iu", "salun", "original")
    labels = {run: run for run in runs}
    figure = classes.draw(cell_of(whole_class_cell(runs=runs), labels), labels)
    assert len(panels_of(figure)) == 6
    assert figure.axes[0].get_gridspec().get_geometry() == (2, 4)


def test_a_point_is_a_kept_class_at_its_similarity_and_drop(figure):
    marks = line_of(figure.axes[1], "None")
    assert marks.get_xdata() == pytest.approx(np.arange(9) / 10)
    assert marks.get_ydata() == pytest.approx(np.arange(9))  # in points


def test_bars_are_student_intervals_over_seeds(cell_of, figure):
    points = classes.points_of(cell_of(whole_class_cell()), "ga")
    # Seeds lie one point apart: a standard deviation of 1, of the mean 1 / sqrt(3).
    assert points.error == pytest.approx([STUDENT_95 / np.sqrt(3)] * 9, rel=1e-6)
    assert "95 % Student-t" in figure._supxlabel.get_text()


def test_the_dashed_line_has_the_slope_of_the_metrics(figure):
    fit = line_of(figure.axes[1], "--")
    assert np.polyfit(*fit.get_data(), 1) == pytest.approx([10, 0], abs=1e-9)  # 0.1 in points


def test_the_corner_tells_the_slope_and_its_interval(figure):
    texts = [text.get_text() for text in figure.axes[1].texts]
    assert "slope 1 [0.5, 1.5]\npoints per 0.1" in texts


def test_the_noise_of_each_class_covers_95_percent(figure):
    [bars] = [c for c in figure.axes[0].collections if c.get_label() == NOISE_LABEL]
    assert len(bars.get_segments()) == 9
    for (_, low), (_, high) in bars.get_segments():
        assert (low, high) == pytest.approx((-2 * STUDENT_95, 2 * STUDENT_95))


def test_names_are_told_without_what_they_share(figure):
    assert {name.get_text() for name in names_in(figure.axes[0])} == set("012345678")


def test_names_hide_neither_one_another_nor_a_mark(figure):
    for axes in figure.axes:
        boxes = [name.get_window_extent() for name in names_in(axes)]
        marks = axes.transData.transform(line_of(axes, "None").get_xydata())
        assert len(boxes) == 9
        assert not [pair for pair in combinations(boxes, 2) if Bbox.intersection(*pair)]
        assert not [box for box in boxes for mark in marks if box.contains(*mark)]


def test_of_many_classes_the_farthest_from_zero_are_named_where_there_is_room(cell_of):
    axes = classes.draw(cell_of(whole_class_cell(num_classes=40, runs=("ga",))), RUNS).axes[0]
    named = {int(name.get_text()) for name in names_in(axes)}
    assert 38 in named
    assert named <= set(range(27, 39))
    boxes = [name.get_window_extent() for name in names_in(axes)]
    assert not [pair for pair in combinations(boxes, 2) if Bbox.intersection(*pair)]


def test_one_seed_has_no_interval_and_no_noise(cell_of):
    axes = classes.draw(cell_of(whole_class_cell(num_seeds=1, runs=("ga",))), RUNS).axes[0]
    assert NOISE_LABEL not in axes.get_legend_handles_labels()[1]
    assert "slope 1\npoints per 0.1" in [text.get_text() for text in axes.texts]


def test_a_class_without_a_drop_is_not_drawn(cell_of):
    fake = whole_class_cell()
    for row in fake.metrics:
        if row["metric"] == "class_drop:digit_4":
            row["value"] = ""
    names = classes.points_of(cell_of(fake), "ga").names
    assert len(names) == 8
    assert "digit_4" not in names


def test_a_run_that_failed_has_no_panel(cell_of):
    fake = whole_class_cell()
    for row in fake.metrics:
        if row["run"] == "ga" and row["seed"]:
            row["status"] = "collapsed"
    assert list(panels_of(classes.draw(cell_of(fake), RUNS))) == ["FT", "RL", "Original"]


def test_a_cell_without_runs_is_an_empty_figure(cell_of):
    assert not panels_of(classes.draw(cell_of(whole_class_cell(runs=())), RUNS))


def test_equal_figures_are_equal_files(cell_of, tmp_path):
    for name in ("one", "two"):
        save(classes.draw(cell_of(whole_class_cell()), RUNS), tmp_path / name)
    for suffix in (".pdf", ".png"):
        one, two = ((tmp_path / name).with_suffix(suffix).read_bytes() for name in ("one", "two"))
        assert one == two


def test_the_bars_of_an_undefined_accuracy_are_said_to_be_undefined(cell_of):
    fake = whole_class_cell()
    for row in fake.metrics:
        if row["metric"].endswith("ra_affected"):
            row["value"] = ""
    axes = affected.draw(cell_of(fake), RUNS).axes[0]
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["RA affected\n(undefined)", "UA affected", "TA affected"]

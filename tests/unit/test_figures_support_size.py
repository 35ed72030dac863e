"""Support sizes drawn: from metrics.csv alone, and Retrain in one figure only."""

import numpy as np
import pytest
from fake_results import full_cell, read_cell, supports_cell
from figure_reading import (
    STUDENT_95,
    band_at,
    heights_of,
    labels_of,
    legend_of,
    line_of,
    note_of,
    points_of,
    span_of,
    title_of,
)

from collateral.findings._shared.style import NOISE, NOISE_LABEL
from collateral.findings.support_size.figure import figures

NAMES = ["support-kl", "support-accuracy", "support-drop", "support-retrain"]
TEACHER = "FT's teacher"


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    return read_cell(tmp_path_factory.mktemp("cell"), supports_cell())


@pytest.fixture(scope="module")
def drawn(cell):
    """The figures by name; tests leave them as they are."""
    return {picture.name: picture.figure for picture in figures(cell)}


def test_there_are_four_where_there_are_sizes(drawn, tmp_path):
    assert list(drawn) == NAMES
    assert not list(figures(read_cell(tmp_path, full_cell())))


def test_the_change_is_drawn_from_the_second_size_on(drawn):
    axes = drawn["support-kl"].axes[0]
    x, y = points_of(axes, TEACHER)
    assert x.tolist() == [50, 80]
    assert y == pytest.approx([0.501, 0.021])
    assert axes.get_yscale() == "log"


def test_bands_are_the_range_of_the_seeds(drawn):
    kl, accuracy, retrain = (
        drawn[name].axes[0] for name in ("support-kl", "support-accuracy", "support-retrain")
    )
    assert band_at(kl, 50) == pytest.approx((0.5, 0.502))
    assert band_at(accuracy, 80) == pytest.approx((70, 70.2))
    assert band_at(retrain, 20) == pytest.approx((1.5, 1.502))
    assert "Band: the range over 3 seeds." in note_of(drawn["support-kl"])


def test_grey_is_what_two_seeds_differ_by(drawn):
    axes = drawn["support-kl"].axes[0]
    label = "Two seeds' teachers of one k"
    assert legend_of(drawn["support-kl"])[-1] == label
    [grey] = [area for area in axes.collections if area.get_label() == label]
    vertices = grey.get_paths()[0].vertices
    assert (vertices[:, 0].min(), vertices[:, 0].max()) == (20, 80)
    assert sorted(set(vertices[:, 1])) == pytest.approx([0, 0.05])


@pytest.mark.parametrize("name", ["support-kl", "support-accuracy", "support-retrain"])
def test_the_runs_k_and_autos_are_marked(drawn, name):
    axes = drawn[name].axes[0]
    assert list(line_of(axes, "k of the runs: 50").get_xdata()) == [50, 50]
    assert list(line_of(axes, "k: auto: 60").get_xdata()) == [60, 60]


def test_what_auto_takes_is_marked_from_the_least_to_the_largest(tmp_path):
    fake = supports_cell()
    fake.metrics = [row for row in fake.metrics if row["metric"] != "support_auto"]
    fake.add("ft", "support_auto", 30, 60, 60)
    first, *_ = figures(read_cell(tmp_path, fake))
    axes = first.figure.axes[0]
    assert line_of(axes, "k: auto: 30 to 60").get_xdata() == pytest.approx([50, 50])
    [span] = axes.patches
    assert (span.get_x(), span.get_width()) == (30, 30)


@pytest.mark.parametrize("name", ["support-kl", "support-accuracy"])
def test_the_least_similarity_stands_above_its_size(drawn, name):
    (above,) = drawn[name].axes[0].child_axes
    assert above.get_xticks().tolist() == [20, 50, 80]
    assert [tick.get_text() for tick in above.get_xticklabels()] == ["0.90", "0.75", "0.50"]


def test_accuracy_is_in_percent_above_the_classes(drawn):
    upper, lower = drawn["support-accuracy"].axes
    assert points_of(upper, TEACHER)[1] == pytest.approx([100.1, 80.1, 70.1])
    assert points_of(lower, TEACHER)[1] == pytest.approx([1, 2, 4])


def test_the_drop_is_a_bar_a_bin_and_a_point_a_seed(drawn):
    upper, lower = drawn["support-drop"].axes
    heights = heights_of(upper.containers[0])
    assert heights[8:] == pytest.approx([30.1, 40.1])
    assert np.isnan(heights[2])
    seeds = [line for line in upper.get_lines() if line.get_marker() == "o"][:3]
    for seed, line in enumerate(seeds):
        assert line.get_xdata() == pytest.approx([(b + 0.5) / 10 + 0.001 * seed for b in range(10)])
        assert line.get_ydata()[8:] == pytest.approx([30 + 0.1 * seed, 40 + 0.1 * seed])
    assert heights_of(lower.containers[0])[:3] == [30, 30, 0]
    legend = ["Single seeds", "Taken by k: auto", "Mean over seeds"]
    assert legend_of(drawn["support-drop"]) == legend


def test_what_auto_takes_is_tinted_once_a_seed(drawn):
    for axes in drawn["support-drop"].axes:
        tints = [patch for patch in axes.patches if patch.get_zorder() == NOISE["zorder"]]
        ends = [(tint.get_x(), tint.get_x() + tint.get_width()) for tint in tints]
        wanted = [(0.8 + 0.001 * seed, 1 + 0.001 * seed) for seed in range(3)]
        assert np.array(ends) == pytest.approx(np.array(wanted))


def test_retrain_is_in_the_one_figure_that_is_called_after_the_fact(drawn):
    assert len(drawn) == 4
    for name, figure in drawn.items():
        shown = {label for axes in figure.axes for label in labels_of(axes)}
        if name == "support-retrain":
            title = "digit_3, 50 % forgotten: support size after the fact: uses Retrain"
            assert "Retrain" in shown
        else:
            title = "digit_3, 50 % forgotten: support size, without Retrain"
            assert "Retrain" not in shown
        assert title_of(figure) == title


def test_the_divergence_from_retrain_is_beside_the_teachers_accuracy(cell, drawn):
    left, right = drawn["support-retrain"].axes
    assert points_of(left, TEACHER)[1] == pytest.approx([1.501, 0.101, 0.201])
    grey = [patch for patch in left.patches if patch.get_zorder() == NOISE["zorder"]]
    assert [(patch.get_y(), patch.get_height()) for patch in grey] == [(0, 0.01)]
    assert points_of(right, TEACHER)[1] == pytest.approx([100.1, 80.1, 70.1])
    level = 100 * cell.values("retrain", "ua").mean()
    assert line_of(right, "Retrain").get_ydata() == pytest.approx([level, level])
    half = STUDENT_95 * np.sqrt(np.pi / 2)
    low, high = span_of(right, NOISE_LABEL)
    assert low == pytest.approx(level - half)
    assert high == pytest.approx(min(level + half, 100))


def test_one_seed_has_no_grey_and_says_so(tmp_path):
    pictures = list(figures(read_cell(tmp_path, supports_cell(num_seeds=1))))
    assert len(pictures) == 4
    for picture in pictures:
        assert "One seed." in note_of(picture.figure)
        shown = {label for axes in picture.figure.axes for label in labels_of(axes)}
        assert not shown & {NOISE_LABEL, "Two seeds' teachers of one k"}

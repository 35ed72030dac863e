"""The bars of the affected classes."""

import math

import numpy as np
import pytest
from fake_results import FakeCell, full_cell, read_cell, whole_class_cell
from figure_reading import STUDENT_95, bars_of, ends_of, heights_of

from collateral.findings._shared.style import NOISE_LABEL
from collateral.findings.accuracy.figure import RATES, draw, figures


def ends_of_errors(bars):
    """Return (x, low, high) of the error bars of bars."""
    return ends_of(bars.errorbar.lines[2][0].get_segments())


def texts_of(axes, bars):
    """Return the numbers at the ends of some bars."""
    centres = [bar.get_x() + bar.get_width() / 2 for bar in bars.patches]
    return [text for x in centres for text in axes.texts if text.xy[0] == pytest.approx(x)]


@pytest.fixture
def cell(tmp_path):
    return read_cell(tmp_path, full_cell())


def test_bars_are_deviations_from_retrain_and_their_standard_errors(cell):
    axes = draw(cell).axes[0]
    for run, label in (("ft", "FT"), ("rl", "RL"), ("original", "Original")):
        bars = bars_of(axes, label)
        pairs = [cell.values(run, m) - cell.values("retrain", m) for m in RATES]
        means = np.array([100 * pair.mean() for pair in pairs])
        errors = np.array([100 * pair.std(ddof=1) / np.sqrt(3) for pair in pairs])
        assert heights_of(bars) == pytest.approx(means)
        ends = ends_of_errors(bars)
        assert ends[:, 1] == pytest.approx(means - errors)
        assert ends[:, 2] == pytest.approx(means + errors)
        assert ends[:, 0] == pytest.approx([b.get_x() + b.get_width() / 2 for b in bars.patches])


def test_a_bar_of_a_partly_diverged_run_is_the_tables_deviation(tmp_path):
    fake = FakeCell()
    for name in RATES:
        fake.add("retrain", name, 0.5, 0.6, 0.7)
        fake.add("ft", name, 0.1, 0.3, None)
    bars = bars_of(draw(read_cell(tmp_path, fake)).axes[0], "FT")
    assert heights_of(bars) == pytest.approx([100 * (0.2 - 0.6)] * 3)
    # Of the seeds' own differences: -0.4 and -0.3.
    assert ends_of_errors(bars)[:, 1:] == pytest.approx(np.array([(-45.0, -35.0)] * 3))


def test_groups_stand_in_order_and_bars_do_not_overlap(cell):
    axes = draw(cell).axes[0]
    bars = [bar for label in ("FT", "GA", "RL", "Original") for bar in bars_of(axes, label)]
    for place in range(3):
        group = bars[place::3]
        edges = [edge for bar in group for edge in (bar.get_x(), bar.get_x() + bar.get_width())]
        assert edges == sorted(edges)
        assert place - 0.5 < edges[0] < edges[-1] < place + 0.5
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "RA affected",
        "UA affected",
        "TA affected",
    ]


def test_numbers_stand_beyond_the_error_bars(cell):
    axes = draw(cell).axes[0]
    bars = bars_of(axes, "RL")
    texts = texts_of(axes, bars)
    heights, ends = heights_of(bars), ends_of_errors(bars)
    assert [text.get_text() for text in texts] == [f"−{-height:.0f}" for height in heights]
    assert [text.xy[1] for text in texts] == pytest.approx(ends[:, 1])  # all are below zero


def test_a_number_that_rounds_to_zero_has_no_sign(tmp_path):
    fake = FakeCell()
    for name in RATES:
        fake.add("retrain", name, 0.5, 0.6, 0.7)
        fake.add("ft", name, 0.503, 0.603, 0.703)
        fake.add("ga", name, 0.6, 0.7, 0.8)
    axes = draw(read_cell(tmp_path, fake)).axes[0]
    assert [text.get_text() for text in axes.texts] == ["0"] * 3 + ["+10"] * 3


def test_each_group_has_its_noise(tmp_path):
    fake = full_cell()
    floors = dict(zip(RATES, (0.01, 0.02, 0.03), strict=True))
    for row in fake.metrics:
        if row["metric"] == "floor" and row["at"] in floors:
            row["value"] = str(floors[row["at"]])
    noise = bars_of(draw(read_cell(tmp_path, fake)).axes[0], NOISE_LABEL).patches
    halves = [100 * floor * STUDENT_95 * math.sqrt(math.pi / 2) for floor in floors.values()]
    assert [bar.get_height() for bar in noise] == pytest.approx([2 * half for half in halves])
    assert [bar.get_y() for bar in noise] == pytest.approx([-half for half in halves])
    assert [bar.get_x() + bar.get_width() / 2 for bar in noise] == pytest.approx([0, 1, 2])


def test_one_seed_has_no_error_bars(tmp_path):
    axes = draw(read_cell(tmp_path, full_cell(num_seeds=1))).axes[0]
    ends = ends_of_errors(bars_of(axes, "FT"))
    assert (ends[:, 1] == ends[:, 2]).all()


def test_a_control_is_an_empty_hatched_bar(cell):
    axes = draw(cell).axes[0]
    control, method = bars_of(axes, "Original")[0], bars_of(axes, "FT")[0]
    assert control.get_hatch() and control.get_facecolor()[3] == 0
    assert not method.get_hatch() and method.get_facecolor()[3] == 1


def test_an_undefined_accuracy_has_no_bars_and_says_so(tmp_path):
    fake = whole_class_cell()
    for row in fake.metrics:
        if "ra_affected" in (row["metric"], row["at"]):
            row["value"] = ""
    axes = draw(read_cell(tmp_path, fake)).axes[0]
    assert axes.get_xticklabels()[0].get_text() == "RA affected\n(undefined)"
    assert np.isnan(heights_of(bars_of(axes, "FT"))[0])
    assert np.isnan(heights_of(bars_of(axes, NOISE_LABEL))[0])
    assert not np.isnan(heights_of(bars_of(axes, "FT"))[1:]).any()


def test_without_accuracies_there_is_no_figure(tmp_path):
    fake = FakeCell()
    for run in ("retrain", "ga"):
        fake.add(run, "mia", 0.5, 0.6, 0.7)
    assert not list(figures(read_cell(tmp_path, fake)))

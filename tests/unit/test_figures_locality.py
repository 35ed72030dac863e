"""The figure of similarity: every run's difference from Retrain, bin by bin."""

import numpy as np
import pytest
from fake_results import RUNS, FakeCell, full_cell, read_cell
from figure_reading import (
    STUDENT_95,
    bars_of,
    error_bars_of,
    heights_of,
    labels_of,
    line_of,
    pieces_of,
    points_of,
)

from collateral.findings._shared.style import NOISE_LABEL
from collateral.findings.locality.figure import draw, figures

EMPTY_BIN = 2  # of the fake cell
KNOWN = [b for b in range(10) if b != EMPTY_BIN]
# The panels, by row.
PANELS = [(m, s) for m in ("delta_acc", "delta_conf") for s in ("retain", "test")]


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    return read_cell(tmp_path_factory.mktemp("cell"), full_cell())


@pytest.fixture(scope="module")
def figure(cell):
    """The figure of FT, GA, RL and Original; tests leave it as it is."""
    return draw(cell)


@pytest.fixture(scope="module")
def panels(figure):
    """The panels of lines, by metric and set."""
    return dict(zip(PANELS, figure.axes, strict=False))


@pytest.mark.parametrize("place", PANELS, ids=":".join)
@pytest.mark.parametrize("run", RUNS)
def test_lines_are_means_in_points_and_bars_their_standard_errors(cell, panels, place, run):
    metric, name = place
    values = np.array([100 * cell.values(run, metric, name, b) for b in KNOWN])
    x, y = points_of(panels[place], RUNS[run])
    assert y == pytest.approx(values.mean(axis=1))
    errors = values.std(axis=1, ddof=1) / np.sqrt(3)
    bars = error_bars_of(panels[place], RUNS[run])
    assert bars[:, 0] == pytest.approx(x)
    assert bars[:, 1] == pytest.approx(y - errors)
    assert bars[:, 2] == pytest.approx(y + errors)


def test_panels_differ(panels):
    ends = {place: points_of(axes, "GA")[1][-1] for place, axes in panels.items()}
    assert len(set(ends.values())) == 4
    assert ends["delta_acc", "retain"] == pytest.approx(40, abs=2)
    assert ends["delta_conf", "test"] == pytest.approx(20, abs=1)


def test_an_empty_bin_is_a_gap(panels):
    for axes in panels.values():
        assert labels_of(axes)[:4] == list(RUNS.values())
        for label in RUNS.values():
            pieces = [np.floor(10 * line.get_xdata()) for line in pieces_of(axes, label)]
            assert [piece.tolist() for piece in pieces] == [KNOWN[:EMPTY_BIN], KNOWN[EMPTY_BIN:]]


def test_points_lie_in_the_middle_third_of_their_bins_side_by_side(panels):
    [places] = {tuple(points_of(axes, "FT")[0]) for axes in panels.values()}
    assert places == pytest.approx([(b + 0.5 - 1 / 6) / 10 for b in KNOWN])
    last = points_of(panels["delta_acc", "test"], "Original")[0]
    assert last == pytest.approx([(b + 0.5 + 1 / 6) / 10 for b in KNOWN])


def test_a_single_run_stands_in_the_middle_of_its_bins(tmp_path):
    figure = draw(read_cell(tmp_path, full_cell(runs=("ga",))))
    assert points_of(figure.axes[0], "GA")[0] == pytest.approx([(b + 0.5) / 10 for b in KNOWN])


def test_a_control_is_a_dashed_line_without_marks(panels):
    line = line_of(panels["delta_acc", "retain"], "Original")
    assert (line.get_linestyle(), line.get_marker()) == ("--", "")


def test_noise_is_the_students_t_of_its_standard_deviation_on_both_sides(tmp_path):
    fake = full_cell()
    of_panel = {place: 0.01 * (i + 1) for i, place in enumerate(PANELS)}
    for row in fake.metrics:
        place = row["metric"].removesuffix("_sd"), row["set"]
        if row["metric"].endswith("_sd") and place in of_panel and row["value"]:
            row["value"] = str(of_panel[place] * (int(row["at"]) + 1))
    panels = dict(zip(PANELS, draw(read_cell(tmp_path, fake)).axes, strict=False))
    for place, axes in panels.items():
        noise = bars_of(axes, NOISE_LABEL).patches
        for b in KNOWN:
            half = 100 * of_panel[place] * (b + 1) * STUDENT_95
            assert (noise[b].get_x(), noise[b].get_width()) == pytest.approx((b / 10, 0.1))
            assert noise[b].get_y() == pytest.approx(-half)
            assert noise[b].get_height() == pytest.approx(2 * half)
        assert np.isnan(noise[EMPTY_BIN].get_height())


def test_the_noise_of_a_nearly_empty_bin_does_not_stretch_the_panel(tmp_path):
    fake = full_cell()
    for row in fake.metrics:
        if (row["metric"], row["set"], row["at"]) == ("delta_acc_sd", "retain", "0"):
            row["value"] = "0.9"
    low, high = draw(read_cell(tmp_path, fake)).axes[0].get_ylim()
    assert -10 < low < -5
    assert 40 < high < 60


def test_the_sizes_of_the_bins_are_drawn(figure):
    assert len(figure.axes) == 6
    for axes in figure.axes[4:]:
        assert heights_of(axes.containers[0]) == [30, 30, 0, 30, 30, 30, 30, 30, 30, 30]
        assert axes.get_yscale() == "log"


def test_without_bins_there_is_no_figure(tmp_path):
    fake = FakeCell()
    for run in ("retrain", "ga"):
        fake.add(run, "ua", 0.5, 0.6, 0.7)
    assert not list(figures(read_cell(tmp_path, fake)))

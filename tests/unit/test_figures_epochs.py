"""The course of unlearning, of the runs that are tracked."""

import numpy as np
import pytest
from fake_results import full_cell, read_cell
from figure_reading import band_at, legend_of, line_of, note_of, points_of, title_of

from collateral.findings._shared.style import NOISE_LABEL
from collateral.findings.epochs.figure import figures
from collateral.findings.epochs.prepared import ROWS

METRICS = [metric for row in ROWS for metric in row]


def tracked(num_epochs=12, runs=("ga",)):
    """Return a cell whose runs gain 5 points an epoch, a metric 1 more; seeds are 1 apart."""
    fake = full_cell()
    for run in runs:
        for place, metric in enumerate(METRICS):
            for epoch in range(num_epochs + 1):
                values = (0.05 * epoch + 0.01 * (place + seed) for seed in range(3))
                fake.add(run, f"epoch_{metric}", *values, at=epoch)
    return fake


@pytest.fixture(scope="module")
def figure(tmp_path_factory):
    """The figure of GA over twelve epochs; tests leave it as it is."""
    [picture] = figures(read_cell(tmp_path_factory.mktemp("cell"), tracked()))
    return picture.figure


def test_a_panel_for_each_accuracy(figure):
    names = ("RA", "UA", "TA", "RA affected", "UA affected", "TA affected")
    assert [panel.get_title() for panel in figure.axes] == [f"{name} (%)" for name in names]
    assert legend_of(figure) == ["GA", "Retrain", NOISE_LABEL]
    assert title_of(figure) == "digit_3, 50 % forgotten: by epoch"
    assert "Bands: standard error over 3 seeds." in note_of(figure)


def test_lines_go_from_the_base_to_the_last_epoch(figure):
    assert len(figure.axes) == 6
    for place, panel in enumerate(figure.axes):
        x, y = points_of(panel, "GA")
        assert x.tolist() == list(range(13))
        assert y == pytest.approx([5 * epoch + place + 1 for epoch in range(13)])


def test_bands_are_standard_errors(figure):
    half = 1 / np.sqrt(3)  # seeds lie one point apart
    for place, panel in enumerate(figure.axes):
        for epoch in (0, 7, 12):
            middle = 5 * epoch + place + 1
            assert band_at(panel, epoch) == pytest.approx((middle - half, middle + half))


def test_each_panel_has_retrains_level_of_its_own(figure, tmp_path):
    cell = read_cell(tmp_path, tracked())
    for metric, panel in zip(METRICS, figure.axes, strict=True):
        level = 100 * cell.values("retrain", metric).mean()
        assert line_of(panel, "Retrain").get_ydata() == pytest.approx([level, level])


def test_a_hundred_epochs_are_in_order(tmp_path):
    [picture] = figures(read_cell(tmp_path, tracked(101)))
    _, y = points_of(picture.figure.axes[0], "GA")
    assert len(y) == 102
    assert (np.diff(y) > 0).all()


def test_only_tracked_runs_are_drawn(tmp_path):
    assert not list(figures(read_cell(tmp_path, full_cell())))
    [picture] = figures(read_cell(tmp_path, tracked(1, ("ga", "ft"))))
    assert legend_of(picture.figure) == ["FT", "GA", "Retrain", NOISE_LABEL]

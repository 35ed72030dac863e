import math

import numpy as np
import pytest
from fake_results import RUNS, full_cell

from collateral.cli import main
from collateral.figures import affected, similarity
from collateral.findings._shared.style import NOISE_LABEL, looks, save
from collateral.results.table import cells, read

STUDENT_95 = 4.302653  # t of two degrees of freedom: three seeds

EMPTY_BIN = 2  # of the fake cell


@pytest.fixture
def cell_of(tmp_path):
    """Return a function: a fake cell in, the cell as the stages read it out."""

    def build(fake=None, runs=RUNS):
        (fake or full_cell()).write(tmp_path)
        return cells(read(tmp_path / "metrics.csv"), runs)[0]

    return build


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines() if line.get_label()[0] != "_"}


def patches_of(axes, label):
    [container] = [bars for bars in axes.containers if bars.get_label() == label]
    return container.patches


def note_of(figure):
    return figure._supxlabel.get_text()


def test_each_line_is_the_mean_difference_in_points(cell_of):
    cell = cell_of()
    axes = similarity.draw(cell, RUNS).axes
    drawn = lines_of(axes[0])["GA"].get_ydata()
    assert drawn[9] == pytest.approx(100 * cell.values("ga", "delta_acc:retain:09").mean())
    confidence = lines_of(axes[3])["GA"].get_ydata()
    assert confidence[9] == pytest.approx(100 * cell.values("ga", "delta_conf:test:09").mean())


def test_an_empty_bin_is_a_gap(cell_of):
    for axes in similarity.draw(cell_of(), RUNS).axes[:4]:
        lines = lines_of(axes)
        assert len(lines) == 4
        for line in lines.values():
            assert np.flatnonzero(np.isnan(line.get_ydata())).tolist() == [EMPTY_BIN]


def test_points_lie_within_their_bins(cell_of):
    axes = similarity.draw(cell_of(), RUNS).axes[0]
    for line in lines_of(axes).values():
        bins = np.floor(10 * line.get_xdata())
        assert bins.tolist() == list(range(10))


def test_the_noise_band_is_two_sided_and_covers_95_percent(cell_of):
    band = patches_of(similarity.draw(cell_of(), RUNS).axes[0], NOISE_LABEL)
    assert band[9].get_y() == pytest.approx(-2 * STUDENT_95)  # the floor is 2 points
    assert band[9].get_height() == pytest.approx(4 * STUDENT_95)


def test_the_noise_of_a_nearly_empty_bin_does_not_stretch_the_panel(cell_of):
    fake = full_cell()
    fake.metrics = [r for r in fake.metrics if r["metric"] != "floor_acc:retain:00"]
    fake.add_overall("retrain", "floor_acc:retain:00", 0.9)
    low, high = similarity.draw(cell_of(fake), RUNS).axes[0].get_ylim()
    assert low > -10
    assert high < 60


def test_the_sizes_of_the_bins_are_drawn(cell_of):
    axes = similarity.draw(cell_of(), RUNS).axes[4]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [30, 30, 0, 30, 30, 30, 30, 30, 30, 30]


def test_bars_are_the_deviations_of_the_affected_class(cell_of):
    cell = cell_of()
    bars = patches_of(affected.draw(cell, RUNS).axes[0], "FT")
    means = [cell.values(run, "ra_affected").mean() for run in ("ft", "retrain")]
    assert bars[0].get_height() == pytest.approx(100 * (means[0] - means[1]))
    assert len(bars) == 3


def test_each_group_of_bars_has_its_noise(cell_of):
    axes = affected.draw(cell_of(), RUNS).axes[0]
    bands = [bars.patches[0] for bars in axes.containers if len(bars.patches) == 1]
    assert [band.get_height() for band in bands] == pytest.approx(
        [2 * STUDENT_95 * math.sqrt(math.pi / 2)] * 3  # a mean absolute deviation of 1 point
    )


def test_a_run_looks_the_same_in_every_cell(cell_of):
    everywhere = looks(cell_of(), RUNS)
    without_ft = looks(cell_of(full_cell(runs=("ga", "rl"))), RUNS)
    assert without_ft["rl"] == everywhere["rl"]
    assert len({look.colour for look in everywhere.values()}) == 4


def test_a_control_is_a_dashed_grey_line_and_an_empty_bar(cell_of):
    line = lines_of(similarity.draw(cell_of(), RUNS).axes[0])["Original"]
    assert (line.get_linestyle(), line.get_marker()) == ("--", "")
    bar = patches_of(affected.draw(cell_of(), RUNS).axes[0], "Original")[0]
    assert bar.get_hatch()


def test_sweeps_are_not_drawn(cell_of):
    runs = {"ft": "FT", "ft@lr=1": "FT, lr 1"}
    cell = cell_of(full_cell(runs=("ft", "ft@lr=1")), runs)
    assert list(lines_of(similarity.draw(cell, runs).axes[0])) == ["FT"]


@pytest.mark.parametrize("draw", [similarity.draw, affected.draw])
def test_a_partly_diverged_run_is_drawn_and_named(cell_of, draw):
    figure = draw(cell_of(full_cell(diverged=("ga",))), RUNS)
    assert "GA" in figure.axes[0].get_legend_handles_labels()[1]
    assert "GA diverged (2 of 3 seeds)." in note_of(figure)


@pytest.mark.parametrize("draw", [similarity.draw, affected.draw])
def test_a_wholly_collapsed_run_is_named_and_not_drawn(cell_of, draw):
    fake = full_cell()
    for row in fake.metrics:
        if row["run"] == "ga" and row["seed"]:
            row["status"] = "collapsed"
    figure = draw(cell_of(fake), RUNS)
    assert "GA" not in figure.axes[0].get_legend_handles_labels()[1]
    assert "GA collapsed (3 of 3 seeds): not drawn." in note_of(figure)


@pytest.mark.parametrize("draw", [similarity.draw, affected.draw])
def test_one_seed_has_no_noise_band_and_no_error_bars(cell_of, draw):
    figure = draw(cell_of(full_cell(num_seeds=1)), RUNS)
    assert NOISE_LABEL not in figure.axes[0].get_legend_handles_labels()[1]
    assert "One seed." in note_of(figure)


def test_the_title_says_the_forget_set_in_words(cell_of):
    legend = similarity.draw(cell_of(), RUNS).legends[0]
    assert legend.get_title().get_text() == "digit_3, 50 % forgotten"


@pytest.mark.parametrize("draw", [similarity.draw, affected.draw])
def test_equal_figures_are_equal_files(cell_of, tmp_path, draw):
    for name in ("one", "two"):
        save(draw(cell_of(), RUNS), tmp_path / name)
    for suffix in (".pdf", ".png"):
        one, two = ((tmp_path / name).with_suffix(suffix).read_bytes() for name in ("one", "two"))
        assert one == two
    assert b"CreationDate" not in (tmp_path / "one.pdf").read_bytes()


def test_the_stage_draws_every_figure_of_every_cell(tmp_path):
    full_cell("digit_3-50").write(tmp_path)
    main(
        [
            "figures",
            "--metrics", str(tmp_path / "metrics.csv"),
            "--runs", '{"ft": "FT", "ga": "GA"}',
            "--out", str(tmp_path / "figures"),
        ]
    )  # fmt: skip
    names = sorted(path.name for path in (tmp_path / "figures" / "digit_3-50").iterdir())
    assert names == ["affected.pdf", "affected.png", "similarity.pdf", "similarity.png"]

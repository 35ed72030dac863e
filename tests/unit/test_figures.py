"""What all figures share: looks, lines over seeds, Retrain's level, and files."""

import math

import numpy as np
import pytest
from fake_results import RUNS, full_cell, read_cell, supports_cell, whole_class_cell
from figure_reading import (
    STUDENT_95,
    band_at,
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
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from collateral.contract.plugins import FINDING
from collateral.findings._shared.panels import BAND, BARS, RANGE, draw_level, draw_line, fit_rates
from collateral.findings._shared.prepared import level_of
from collateral.findings._shared.style import COLOURS, MARKERS, NOISE_LABEL, looks, save
from collateral.results.plan import BenchmarkPlan

# Two cells that have figures of all findings but sweeps and epochs.
FAKES = {"locality": full_cell, "accuracy": full_cell, "classes": whole_class_cell}
SPREAD = np.array([1.0, 2.0, 6.0])  # of three seeds: mean 3
STANDARD_ERROR = math.sqrt(7 / 3)


@pytest.fixture
def cell_of(tmp_path):
    """Return a function: a fake cell in, the cell as the stages read it out."""

    def build(fake=None, runs=RUNS):
        return read_cell(tmp_path, fake or full_cell(), BenchmarkPlan(runs))

    return build


@pytest.fixture
def look(cell_of):
    return looks(cell_of())["ga"]


@pytest.fixture
def axes():
    return Figure().subplots()


def drawn(finding, cell):
    """Return the only figure of a finding."""
    [picture] = FINDING.load(finding, "figure").figures(cell)
    return picture.figure


# Looks.


def test_a_run_looks_the_same_in_every_cell(cell_of):
    everywhere = looks(cell_of())
    without_ft = looks(cell_of(full_cell(runs=("ga", "rl"))))
    assert list(without_ft) == ["ga", "rl"]
    assert without_ft["rl"] == everywhere["rl"]
    assert len({look.colour for look in everywhere.values()}) == 4


def test_a_run_of_a_sweep_takes_no_colour(cell_of):
    runs = {"ft": "FT", "ft@lr=1": "FT, lr 1", "ga": "GA"}
    found = looks(cell_of(full_cell(runs=tuple(runs)), runs))
    assert list(found) == ["ft", "ga"]
    assert (found["ga"].colour, found["ga"].marker) == (COLOURS[1], MARKERS[1])


def test_the_eleventh_run_has_the_first_colour_and_another_line(cell_of):
    runs = {f"run{i}": f"R{i}" for i in range(11)}
    found = list(looks(cell_of(full_cell(num_seeds=2, runs=tuple(runs)), runs)).values())
    assert found[10].colour == found[0].colour
    assert (found[0].line, found[10].line) == ("-", "-.")


def test_grey_is_for_controls_and_noise_alone(cell_of):
    assert len(set(COLOURS)) == len(MARKERS) == 10
    assert all(np.ptp(to_rgb(colour)) > 0.2 for colour in COLOURS)
    original = looks(cell_of())["original"]
    assert np.ptp(to_rgb(original.colour)) == 0
    assert (original.marker, original.line) == ("", "--")


@pytest.mark.parametrize("finding", FAKES)
def test_a_wholly_collapsed_run_is_named_and_not_drawn(cell_of, finding):
    fake = FAKES[finding](runs=("ft", "ga"))
    for row in fake.metrics:
        if row["run"] == "ga" and row["seed"]:
            row["status"] = "collapsed"
    cell = cell_of(fake)
    assert list(looks(cell)) == ["ft"]
    assert "GA collapsed (3 of 3 seeds): not drawn." in note_of(drawn(finding, cell))


@pytest.mark.parametrize("finding", FAKES)
def test_a_partly_diverged_run_is_drawn_and_named(cell_of, finding):
    cell = cell_of(FAKES[finding](runs=("ga",), diverged=("ga",)))
    assert "ga" in looks(cell)
    assert "GA diverged (2 of 3 seeds)." in note_of(drawn(finding, cell))


@pytest.mark.parametrize("finding", FAKES)
def test_without_runs_there_is_no_figure(cell_of, finding):
    cell = cell_of(FAKES[finding](runs=()))
    assert not list(FINDING.load(finding, "figure").figures(cell))


@pytest.mark.parametrize("finding", ["locality", "accuracy"])
def test_the_legend_follows_the_config_and_noise_is_last(cell_of, finding):
    runs = {"rl": "RL", "ft": "FT", "ga": "GA", "original": "Original"}
    figure = drawn(finding, cell_of(runs=runs))
    assert legend_of(figure) == ["RL", "FT", "GA", "Original", NOISE_LABEL]
    assert title_of(figure) == "digit_3, 50 % forgotten"
    assert note_of(figure).endswith("than Retrain. Error bars: standard error over 3 seeds.")


@pytest.mark.parametrize("finding", FAKES)
def test_one_seed_has_no_noise_and_says_so(cell_of, finding):
    figure = drawn(finding, cell_of(FAKES[finding](runs=("ga",), num_seeds=1)))
    assert NOISE_LABEL not in legend_of(figure)
    assert "One seed." in note_of(figure)


# Lines over seeds.


def test_a_line_goes_through_the_means_and_bars_are_standard_errors(axes, look):
    draw_line(axes, [0.5, 2], [SPREAD, 10 * SPREAD], look, "GA", BARS)
    x, y = points_of(axes, "GA")
    assert (x.tolist(), y.tolist()) == ([0.5, 2], [3, 30])
    assert error_bars_of(axes, "GA") == pytest.approx(
        np.array(
            [
                (0.5, 3 - STANDARD_ERROR, 3 + STANDARD_ERROR),
                (2, 30 - 10 * STANDARD_ERROR, 30 + 10 * STANDARD_ERROR),
            ]
        )
    )


def test_a_line_has_its_runs_look(axes, look):
    draw_line(axes, [0, 1], [SPREAD, SPREAD], look, "GA", BARS)
    line = line_of(axes, "GA")
    assert (line.get_color(), line.get_marker(), line.get_linestyle()) == (COLOURS[1], "s", "-")


def test_a_seed_that_is_undefined_is_left_out(axes, look):
    draw_line(axes, [0, 1], [[1, 3, np.nan], [np.nan, 5, np.nan]], look, "GA", BARS)
    [line] = pieces_of(axes, "GA")
    assert line.get_ydata().tolist() == [2, 5]
    [bar] = error_bars_of(axes, "GA")
    assert bar == pytest.approx((0, 1, 3))  # a standard deviation of sqrt(2), of two seeds


def test_where_no_seed_is_defined_is_a_gap(axes, look):
    undefined = [np.nan] * 3
    values = [undefined, SPREAD, SPREAD, undefined, undefined, SPREAD]
    draw_line(axes, range(6), values, look, "GA", BARS)
    assert [line.get_xdata().tolist() for line in pieces_of(axes, "GA")] == [[1, 2], [5]]
    assert labels_of(axes) == ["GA"]


@pytest.mark.parametrize("num_places", [0, 2])
def test_nothing_defined_is_no_line(axes, look, num_places):
    draw_line(axes, range(num_places), np.full((num_places, 3), np.nan), look, "GA", BARS)
    assert not axes.get_lines()


@pytest.mark.parametrize(
    ("spread", "ends"),
    [(BAND, (3 - STANDARD_ERROR, 3 + STANDARD_ERROR)), (RANGE, (1, 6))],
    ids=["standard error", "range"],
)
def test_a_band_is_the_standard_error_or_the_range(axes, look, spread, ends):
    draw_line(axes, [0, 1], [SPREAD, 10 * SPREAD], look, "GA", spread)
    assert len(axes.collections) == 1
    assert band_at(axes, 0) == pytest.approx(ends)
    assert band_at(axes, 1) == pytest.approx(tuple(10 * end for end in ends))


def test_one_seed_has_no_error_bars(axes, look):
    draw_line(axes, [0, 1], [[1], [2]], look, "GA", BARS)
    assert points_of(axes, "GA")[1].tolist() == [1, 2]
    assert len(error_bars_of(axes, "GA")) == 0


# Retrain's level.


def test_retrains_level_is_dashed_and_its_noise_grey(cell_of, axes):
    cell = cell_of()
    draw_level(axes, *level_of(cell, "ua"))
    level = 100 * cell.values("retrain", "ua").mean()
    line = line_of(axes, "Retrain")
    assert line.get_linestyle() == "--"
    assert line.get_ydata() == pytest.approx([level, level])
    half = STUDENT_95 * math.sqrt(math.pi / 2)  # the floor is a mean absolute deviation of 1 point
    assert span_of(axes, NOISE_LABEL) == pytest.approx((level - half, level + half))


@pytest.mark.parametrize(("rate", "ends"), [(0.99, (None, 100)), (0.02, (0, None))])
def test_no_noise_is_below_0_or_above_100(cell_of, axes, rate, ends):
    fake = full_cell()
    fake.metrics = [row for row in fake.metrics if row["metric"] != "ua"]
    fake.add("retrain", "ua", rate, rate, rate)
    draw_level(axes, *level_of(cell_of(fake), "ua"))
    for end, wanted in zip(span_of(axes, NOISE_LABEL), ends, strict=True):
        assert wanted is None or end == wanted


def test_one_seed_has_a_level_without_noise(cell_of, axes):
    draw_level(axes, *level_of(cell_of(full_cell(num_seeds=1)), "ua"))
    assert labels_of(axes) == ["Retrain"]


def test_an_undefined_level_says_so(cell_of, axes):
    fake = full_cell()
    fake.metrics = [row for row in fake.metrics if row["metric"] != "ua"]
    draw_level(axes, *level_of(cell_of(fake), "ua"))
    assert [text.get_text() for text in axes.texts] == ["undefined"]
    assert len(axes.get_yticks()) == 0
    assert not labels_of(axes)


@pytest.mark.parametrize(
    ("values", "least", "largest"),
    [
        ([40, 60], (38, 40), (60, 62)),
        ([50, 50.1], (47, 48), (52, 53)),  # at least 5 points
        ([99.9, 100], (94, 95), (100, 100.5)),  # below, where there is no room above
        ([0, 0.1], (-0.5, 0), (2, 6)),
    ],
)
def test_a_panel_of_rates_has_some_height_and_little_beyond_0_and_100(axes, values, least, largest):
    axes.plot([0, 1], values)
    fit_rates(axes)
    low, high = axes.get_ylim()
    assert least[0] <= low <= least[1]
    assert largest[0] <= high <= largest[1]
    assert all(0 <= tick <= 100 and low <= tick <= high for tick in axes.get_yticks())


# Files.


@pytest.mark.parametrize(
    ("finding", "fake"),
    [("classes", whole_class_cell(runs=("ga",))), ("support_size", supports_cell())],
)
def test_equal_figures_are_equal_files(cell_of, tmp_path, finding, fake):
    for name in ("one", "two"):
        picture, *_ = FINDING.load(finding, "figure").figures(cell_of(fake))
        save(picture.figure, tmp_path / name)
    for suffix in (".pdf", ".png"):
        one, two = ((tmp_path / name).with_suffix(suffix).read_bytes() for name in ("one", "two"))
        assert one == two
    assert b"CreationDate" not in (tmp_path / "one.pdf").read_bytes()

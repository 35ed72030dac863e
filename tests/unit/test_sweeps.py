"""Ablations: tables of every sweep, figures of those with numbers, and none of it elsewhere."""

import csv
import json

import numpy as np
import pytest
from fake_results import RUNS, FakeCell, full_cell

from collateral.cli import main
from collateral.figures import epochs
from collateral.figures import sweeps as figures
from collateral.findings._shared.style import NOISE_LABEL, looks
from collateral.report.page import Source, render
from collateral.results.table import cells, read

CELL = "digit_3-50"
ACCURACIES = ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected")
STUDENT_95 = 4.302653  # t of two degrees of freedom: three seeds


def given(key="lr", **values):
    """Return a sweep of `ft` as the rules pass it; runs are named by the names of the values."""
    runs = {"ft" if name == "own" else f"ft@{key}={name}": v for name, v in values.items()}
    return {
        "method": "FT",
        "key": key,
        "own": "ft",
        "values": runs,
        "labels": {run: str(value).removesuffix(".0") for run, value in runs.items()},
    }


NUMBERS = given(own=0.1, **{"1": 1.0, "0.01": 0.01})
WORDS = given(key="kind", hard="hard", own="soft")


def fake(**ua: float) -> FakeCell:
    """Return a cell with three seeds; a run's UA is given, by seed 1 point more and less."""
    cell = FakeCell()
    for run, value in ua.items():
        for metric in ACCURACIES:
            center = value if metric == "ua" else 0.5
            cell.add(run, metric, center - 0.01, center, center + 0.01)
        cell.add(run, "rte", 1.0, 2.0, 3.0)
        for gap in ("avg_gap", "avg_gap_affected"):
            cell.add_overall(run, gap, abs(value - 0.5) / 4)
    for metric in ACCURACIES:
        cell.add_overall("retrain", f"floor:{metric}", 0.01)
    return cell


def numeric() -> FakeCell:
    return fake(retrain=0.5, ft=0.6, ga=0.55, **{"ft@lr=1": 0.9, "ft@lr=0.01": 0.7})


def words() -> FakeCell:
    return fake(retrain=0.5, ft=0.6, ga=0.55, **{"ft@kind=hard": 0.52})


@pytest.fixture
def frame_of(tmp_path):
    def build(cell: FakeCell):
        cell.write(tmp_path)
        return read(tmp_path / "metrics.csv", tmp_path / "costs.csv")

    return build


@pytest.fixture
def swept(frame_of):
    """Return a function: a fake cell and a sweep in, the sweep's cell and the sweep out."""

    def build(cell: FakeCell, content=NUMBERS):
        (sweep,) = sweeps_of({"s": content})
        return sweep_cell(frame_of(cell), CELL, sweep), sweep

    return build


# Figures.


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines() if line.get_label()[0] != "_"}


def test_numbers_have_figures_and_words_have_none(swept):
    cell, sweep = swept(numeric())
    assert list(figures.draw_all(cell, sweep, RUNS)) == ["sweep-s-standard", "sweep-s-affected"]
    cell, sweep = swept(words(), WORDS)
    assert figures.draw_all(cell, sweep, RUNS) == {}


@pytest.mark.parametrize("value", [True, "auto"])
def test_a_value_that_is_no_number_makes_it_a_sweep_of_words(value):
    (sweep,) = sweeps_of({"s": given(own=0.1, **{"1": 1.0, "x": value})})
    assert sweep.numbers == {}


def test_a_line_goes_through_the_means_from_left_to_right(swept):
    axes = figures.draw_all(*swept(numeric()), RUNS)["sweep-s-standard"].axes
    assert [panel.get_title() for panel in axes] == ["UA (%)", "RA (%)", "TA (%)", "MIA (%)"]
    line = lines_of(axes[0])["FT"]
    assert line.get_xdata().tolist() == [0.01, 0.1, 1.0]
    assert line.get_ydata() == pytest.approx([70, 60, 90])


def test_the_band_is_the_standard_error(swept):
    axes = figures.draw_all(*swept(numeric()), RUNS)["sweep-s-standard"].axes[0]
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.max() == pytest.approx(90 + 1 / np.sqrt(3))


def test_retrains_level_is_dashed_and_its_noise_grey(swept):
    axes = figures.draw_all(*swept(numeric()), RUNS)["sweep-s-standard"].axes[0]
    level = lines_of(axes)["Retrain"]
    assert level.get_linestyle() == "--"
    assert level.get_ydata() == pytest.approx([50, 50])
    (noise,) = [patch for patch in axes.patches if patch.get_label() == NOISE_LABEL]
    heights = noise.get_xy()[1], noise.get_xy()[1] + noise.get_height()
    half = STUDENT_95 * np.sqrt(np.pi / 2)  # the floor is 1 point
    assert heights == pytest.approx((50 - half, 50 + half))


def test_a_ring_marks_the_own_value(swept):
    axes = figures.draw_all(*swept(numeric()), RUNS)["sweep-s-standard"].axes[0]
    ring = lines_of(axes)["own value"]
    assert (ring.get_xdata(), ring.get_ydata()) == (pytest.approx([0.1]), pytest.approx([60]))


@pytest.mark.parametrize(("largest", "scale"), [(1.0, "log"), (0.09, "linear")])
def test_values_that_span_a_decade_have_a_logarithmic_axis(swept, largest, scale):
    content = given(own=0.1 if largest == 1 else 0.05, **{"1": largest, "0.01": 0.01})
    for figure in figures.draw_all(*swept(numeric(), content), RUNS).values():
        assert {panel.get_xscale() for panel in figure.axes} == {scale}


def test_a_teachers_accuracy_and_epochs_have_figures_of_their_own(swept):
    cell = numeric()
    for place, run in enumerate(("ft@lr=0.01", "ft", "ft@lr=1")):
        cell.add(run, "teacher_ua", *[0.3 + place / 10] * 3)
        cell.add(run, "teacher_epochs", 4 + place, 5, 6)
    drawn = figures.draw_all(*swept(cell), RUNS)
    assert list(drawn)[2:] == ["sweep-s-teacher_accuracy", "sweep-s-teacher_epochs"]
    (accuracy,), (lasted,) = (drawn[name].axes for name in list(drawn)[2:])
    assert lines_of(accuracy)["FT"].get_ydata() == pytest.approx([30, 40, 50])
    assert lines_of(accuracy)["Retrain"].get_ydata()[0] == pytest.approx(50)  # its UA
    assert lines_of(lasted)["FT"].get_ydata() == pytest.approx([5, 16 / 3, 17 / 3])
    assert "Retrain" not in lines_of(lasted)
    assert lasted.get_ylim()[0] == 0


def test_a_teacher_that_all_values_share_is_not_drawn(swept):
    cell = numeric()
    for run in ("ft@lr=0.01", "ft", "ft@lr=1"):
        cell.add(run, "teacher_ua", 0.3, 0.4, 0.5)
    assert len(figures.draw_all(*swept(cell), RUNS)) == 2


def test_a_value_whose_seeds_all_collapsed_is_named_and_not_drawn(swept):
    cell = numeric()
    for row in cell.metrics:
        if row["run"] == "ft@lr=1" and row["seed"]:
            row["status"] = "collapsed"
    figure = figures.draw_all(*swept(cell), RUNS)["sweep-s-standard"]
    assert lines_of(figure.axes[0])["FT"].get_xdata().tolist() == [0.01, 0.1]
    assert "1 collapsed (3 of 3 seeds): not drawn." in figure._supxlabel.get_text()


def test_rates_have_room_for_the_noise_and_none_above_100(swept):
    axes = figures.draw_all(
        *swept(fake(retrain=0.99, ft=1, **{"ft@lr=1": 1, "ft@lr=0.01": 1})), RUNS
    )
    panel = axes["sweep-s-standard"].axes[0]
    low, high = panel.get_ylim()
    assert low < 99 - STUDENT_95 and 100 < high < 101
    assert max(panel.get_yticks()) == 100


def test_an_undefined_metric_is_an_empty_panel_that_says_so(swept):
    cell = numeric()
    for row in cell.metrics:
        if row["metric"] == "ra_affected":
            row["value"] = ""
    first, *others = figures.draw_all(*swept(cell), RUNS)["sweep-s-affected"].axes
    assert [text.get_text() for text in first.texts] == ["undefined"]
    assert len(first.get_yticks()) == 0
    assert all(len(panel.get_yticks()) > 1 for panel in others)


def test_every_figure_has_a_caption_that_says_what_the_band_is(swept):
    _, sweep = swept(numeric())
    texts = figures.captions(sweep)
    assert list(texts) == [f"sweep-s-{kind}" for kind in figures.KINDS]
    for text in texts.values():
        assert "FT" in text and "lr" in text and "{" not in text
        assert "Bands: standard error over seeds" in text


# The course of training.


def tracked(num_epochs: int = 12, runs: tuple[str, ...] = ("ft",)) -> FakeCell:
    cell = numeric()
    for run in runs:
        for name in ACCURACIES:
            for epoch in range(num_epochs + 1) if name != "mia" else ():
                cell.add(
                    run, f"epoch_{name}:{epoch:02d}", *(epoch / 20 + s for s in (0, 0.01, 0.02))
                )
    return cell


def test_tracked_runs_are_drawn_from_the_base_to_the_last_epoch(frame_of):
    (cell,) = cells(frame_of(tracked()), RUNS)
    axes = epochs.draw(cell, RUNS).axes
    assert [panel.get_title() for panel in axes[:4]] == [
        f"{name} (%)" for name in ("RA", "UA", "TA", "RA affected")
    ]
    for panel in axes:
        lines = lines_of(panel)
        assert list(lines) == ["FT", "Retrain"]
        assert lines["FT"].get_xdata().tolist() == list(range(13))
        assert lines["FT"].get_ydata() == pytest.approx([5 * epoch + 1 for epoch in range(13)])
        assert (lines["FT"].get_linestyle(), lines["Retrain"].get_linestyle()) == ("-", "--")


def test_a_hundred_epochs_are_in_order(frame_of):
    (cell,) = cells(frame_of(tracked(101)), RUNS)
    line = lines_of(epochs.draw(cell, RUNS).axes[0])["FT"]
    assert (np.diff(line.get_ydata()) > 0).all() and len(line.get_ydata()) == 102


def test_without_tracking_there_is_nothing_to_draw(frame_of):
    (cell,) = cells(frame_of(numeric()), RUNS)
    assert epochs.tracked_runs(cell) == []


# Stages and page.


@pytest.fixture
def benchmark(tmp_path):
    """Return the folder of a benchmark with a sweep of numbers, one of words and a tracked run."""
    folder = tmp_path / "digits"
    cell, other = tracked(), full_cell("digit_8-90")
    for row in words().metrics + words().costs:
        if row["run"] == "ft@kind=hard":
            (cell.costs if row["metric"] == "rte" else cell.metrics).append(row)
    bins = full_cell(CELL)
    runs = {row["run"] for row in cell.metrics}
    binned = ("bin_", "delta_", "floor_")
    cell.metrics += [r for r in bins.metrics if r["run"] in runs and r["metric"].startswith(binned)]
    for fake_cell in (cell, other):
        fake_cell.write(folder / fake_cell.name)
        (folder / fake_cell.name / "tuning.csv").write_text(
            "cell,run,chosen,nearest,gap_chosen,gap_default,gap_nearest,regret\n"
        )
    return folder


SWEEPS = {CELL: {"rate": NUMBERS, "kind": WORDS}}


def run_stages(folder):
    found = {name: [str(folder / cell / name) for cell in (CELL, "digit_8-90")]
             for name in ("metrics.csv", "costs.csv", "tuning.csv")}  # fmt: skip
    shared = ["--runs", json.dumps(RUNS), "--sweeps", json.dumps(SWEEPS)]
    main(
        [
            "tables",
            "--metrics", *found["metrics.csv"],
            "--costs", *found["costs.csv"],
            "--tuning", *found["tuning.csv"],
            *shared,
            "--out-metrics", str(folder / "metrics.csv"),
            "--out-costs", str(folder / "costs.csv"),
            "--out", str(folder / "tables"),
        ]
    )  # fmt: skip
    metrics = str(folder / "metrics.csv")
    main(["figures", "--metrics", metrics, *shared, "--out", str(folder / "figures")])


def test_the_stages_write_tables_and_figures_of_the_cells_with_sweeps(benchmark):
    run_stages(benchmark)
    made = {path.name for path in (benchmark / "tables" / CELL).glob("sweep-*")}
    assert made == {f"sweep-{n}.{s}" for n in ("rate", "kind") for s in ("csv", "md", "tex")}
    assert not list((benchmark / "tables" / "digit_8-90").glob("sweep-*"))
    drawn = {path.stem for path in (benchmark / "figures" / CELL).glob("*.png")}
    ours = {"epochs", "sweep-rate-standard", "sweep-rate-affected"}
    assert drawn == {"similarity", "affected", *ours}
    assert not {p.stem for p in (benchmark / "figures" / "digit_8-90").iterdir()} & ours
    with (benchmark / "tables" / CELL / "sweep-rate.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "ua"]
    assert [(row["run"], float(row["mean"] or "nan")) for row in rows[:3]] == [
        ("retrain", 0.5),
        ("ft", pytest.approx(0.6)),
        ("ft@lr=1", pytest.approx(0.9)),
    ]


def test_the_page_shows_sweeps_in_a_section_of_their_own(benchmark):
    run_stages(benchmark)
    page = render({"digits": Source(benchmark, RUNS, "matched", SWEEPS)})
    sections = page.split('<section class="cell"')[1:]
    first, _, ablations = sections[0].partition(">Ablations</h4>")
    assert "FT: lr" in ablations and "FT: kind" in ablations and "<h5>Epochs</h5>" in ablations
    assert ablations.count('alt="sweep-rate-') == 2
    assert ablations.count('alt="epochs') == 1
    assert "sweep-" not in first and 'alt="epochs' not in first
    assert "0.1 (own)" in ablations
    assert "Ablations" not in sections[1]

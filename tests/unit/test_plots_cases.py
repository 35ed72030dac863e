"""Plots of cells with something missing: one seed, no runs, collapsed runs, undefined numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import table_of
from fake_results import (
    COURSES,
    RUNS,
    FakeCell,
    FakeCourse,
    full_cell,
    read_cell,
    supports_cell,
    tracked_cell,
    whole_class_cell,
)
from test_finding_verdict import ALIKE, ENDS

from collateral.findings._shared.series import NOISE_LABEL, find_looks, with_level
from collateral.findings.registry import view_function
from collateral.findings.sweeps.views import tick_values
from collateral.plots.plot import Panel, Series, fit_rates, fit_x, fit_y
from collateral.plots.style import PLAIN, method_look
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep

AWAY = replace(ALIKE, forget=(50,) * 5, near=(40,) * 5, test=(90,) * 5)
FAKES = {"locality": full_cell, "accuracy": full_cell, "classes": whole_class_cell}


@pytest.fixture
def plots_of(tmp_path):
    """Return a function: a finding and a fake cell in, its plots by name out."""

    def build(finding, fake, plan=None):
        cell = read_cell(tmp_path, fake, plan)
        return {plot.name: plot for plot in view_function(finding, "plots")(cell)}

    return build


def only(plots):
    [plot] = plots.values()
    return plot


def notes(plot) -> str:
    return " ".join(plot.notes)


def set_status(fake, run, status):
    """Let all seeds of a run end in a way."""
    for row in fake.metrics:
        if row["run"].startswith(run) and row["seed"]:
            row["status"] = status
    return fake


def without(fake, metric, at=None):
    """Let a number be undefined."""
    for row in fake.metrics:
        if metric in (row["metric"], row["at"]) and at in (None, row["at"]):
            row["value"] = ""
    return fake


@pytest.mark.parametrize("finding", FAKES)
def test_a_wholly_collapsed_run_is_named_and_not_drawn(plots_of, finding):
    plot = only(plots_of(finding, set_status(FAKES[finding](runs=("ft", "ga")), "ga", "collapsed")))
    assert {one.run for panel in plot.panels for one in panel.series} - {""} == {"ft"}
    assert "GA collapsed (3 of 3 seeds): not drawn." in notes(plot)


@pytest.mark.parametrize("finding", FAKES)
def test_a_partly_diverged_run_is_drawn_and_named(plots_of, finding):
    plot = only(plots_of(finding, FAKES[finding](runs=("ga",), diverged=("ga",))))
    assert "ga" in {one.run for panel in plot.panels for one in panel.series}
    assert "GA diverged (2 of 3 seeds)." in notes(plot)


@pytest.mark.parametrize("finding", FAKES)
def test_without_runs_there_is_no_plot(plots_of, finding):
    assert not plots_of(finding, FAKES[finding](runs=()))


@pytest.mark.parametrize("finding", [*FAKES, "support_size"])
def test_one_seed_has_no_noise_and_no_interval_and_says_so(plots_of, finding):
    fake = supports_cell(num_seeds=1) if finding == "support_size" else None
    plots = plots_of(finding, fake or FAKES[finding](runs=("ga",), num_seeds=1))
    for plot in plots.values():
        assert "One seed." in notes(plot)
        for panel in plot.panels:
            assert NOISE_LABEL not in {band.label for band in panel.bands}
            assert all(math.isnan(end) for one in panel.series for end in (*one.low, *one.high))
            floors = [one for one in panel.series if one.label.startswith("Two seeds'")]
            assert all(np.isnan(one.y).all() for one in floors)


@pytest.mark.parametrize("finding", ["accuracy", "locality", "classes", "epochs", "trajectory"])
def test_without_its_numbers_a_finding_has_no_plot(plots_of, finding):
    fake = FakeCell()
    for run in ("retrain", "ga"):
        fake.add(run, "mia", 0.5, 0.6, 0.7)
    assert not plots_of(finding, fake)


def test_series_follow_the_config(plots_of):
    runs = {"rl": "RL", "ft": "FT", "ga": "GA", "original": "Original"}
    plot = only(plots_of("locality", full_cell(), BenchmarkPlan(runs)))
    assert [one.label for one in plot.panels[0].series] == list(runs.values())
    assert [one.look for one in plot.panels[0].series][:3] == [method_look(i) for i in range(3)]
    assert plot.title == "digit_3, 50 % forgotten"


def test_a_run_of_a_sweep_takes_no_colour(tmp_path):
    runs = {"ft": "FT", "ft@lr=1": "FT, lr 1", "ga": "GA"}
    assert find_looks(read_cell(tmp_path, full_cell(), BenchmarkPlan(runs)))["ga"] == method_look(1)


@pytest.mark.parametrize(("rate", "ends"), [(0.99, (None, 100)), (0.02, (0, None))])
def test_no_noise_is_below_0_or_above_100(tmp_path, rate, ends):
    fake = full_cell()
    fake.metrics = [row for row in fake.metrics if row["metric"] != "ua"]
    fake.add("retrain", "ua", rate, rate, rate)
    [band] = with_level(Panel([]), read_cell(tmp_path, fake), "ua").bands
    for end, expected in zip((band.low, band.high), ends, strict=True):
        assert expected is None or end == expected


@pytest.mark.parametrize(
    ("values", "least", "largest"),
    [
        ([40, 60], (38, 40), (60, 62)),
        ([50, 50.1], (47, 48), (52, 53)),  # at least 5 points
        ([99.9, 100], (94, 95), (100, 100.5)),  # below, where there is no room above
        ([0, 0.1], (-0.5, 0), (2, 6)),
    ],
)
def test_a_panel_of_rates_has_some_height_and_little_beyond_0_and_100(values, least, largest):
    low, high = fit_rates(Panel([Series("A", PLAIN, [0, 1], values)]))
    assert least[0] <= low <= least[1]
    assert largest[0] <= high <= largest[1]


def test_the_noise_of_a_nearly_empty_bin_does_not_stretch_the_panel(plots_of):
    fake = full_cell()
    for row in fake.metrics:
        if (row["metric"], row["set"], row["at"]) == ("delta_acc_sd", "retain", "0"):
            row["value"] = "0.9"
    low, high = fit_y(only(plots_of("locality", fake)).panels[0])
    assert -12 < low <= -5
    assert 40 < high < 60


def test_an_undefined_accuracy_has_no_bars_and_says_so(plots_of):
    lost, *others = only(plots_of("accuracy", without(whole_class_cell(), "ra_affected"))).panels
    assert lost.message == "undefined" and [one.message for one in others] == ["", ""]
    assert all(math.isnan(one.x[0]) for one in lost.series)
    assert not any(math.isnan(one.x[0]) for panel in others for one in panel.series)
    assert lost.y.ticks and [len(panel.bands) for panel in (lost, *others)] == [0, 1, 1]


def epochs_cell(first: float, seeds: int = 3) -> FakeCell:
    """Return a cell in which GA's UA after the first of six epochs is `first`."""
    cell = full_cell(runs=("ga", "ltd"))
    for epoch, value in enumerate([0.9, first, 0.85, 0.84, 0.83, 0.82, 0.81]):
        cell.add("ga", "epoch_ua", *([value] * seeds), at=epoch)
        for name in ("ra", "ta", "ra_affected", "ta_affected"):
            cell.add("ga", f"epoch_{name}", *([0.9] * seeds), at=epoch)
    return cell


def test_a_first_epoch_far_from_all_others_does_not_set_the_scale(plots_of):
    scales = {}
    for first in (0.05, 0.86):
        panel = only(plots_of("epochs", epochs_cell(first))).panels[1]
        assert list(panel.series[0].y)[:3] == pytest.approx([90, 100 * first, 85])
        scales[first] = fit_y(panel)
    # The value itself is kept, and beyond the axis.
    assert scales[0.05] == scales[0.86]
    assert scales[0.05][0] > 5


def test_an_accuracy_that_retrain_does_not_have_is_named_and_not_drawn(plots_of):
    """RA of the affected class, where the whole class is forgotten."""
    whole, cut = epochs_cell(0.86), without(epochs_cell(0.86), "ra_affected")
    counts = [len(only(plots_of("epochs", fake)).panels) for fake in (whole, cut)]
    assert counts == [5, 4]
    plot = only(plots_of("epochs", cut))
    assert "Undefined here, and not drawn: RA affected." in notes(plot)
    assert not any(panel.message for panel in plot.panels)


def test_a_class_without_a_drop_is_not_drawn(plots_of):
    fake = without(whole_class_cell(runs=("ga",)), "class_drop", "digit_4")
    *_, series = only(plots_of("classes", fake)).panels[0].series
    assert set(series.names) == set("01235678")


def test_of_many_classes_those_that_changed_most_are_named(plots_of):
    fake = whole_class_cell(num_classes=40, runs=("ga",))
    *_, series = only(plots_of("classes", fake)).panels[0].series
    assert {int(name) for name in series.names if name} == set(range(27, 39))


# Sweeps.

ACCURACIES = ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected")


def sweep(key="lr", **values):
    """Return a sweep of `ga`; runs are named by the names of the values."""
    runs = {"ga" if name == "own" else f"ga@{key}={name}": v for name, v in values.items()}
    return Sweep("s", "GA", key, "ga", runs, {run: str(value) for run, value in runs.items()})


NUMBERS = sweep(own=0.1, **{"1": 1.0, "0.01": 0.01})


def swept_cell(*more: str) -> FakeCell:
    """Return a cell with a sweep of three values, and more runs, and three seeds."""
    cell = FakeCell()
    runs = {"retrain": 0.85, "ft": 0.9, "ga": 0.8, "ga@lr=1": 0.95, "ga@lr=0.01": 0.75}
    runs |= dict.fromkeys(more, 0.7)
    for place, metric in enumerate(ACCURACIES):
        for run, value in runs.items():
            centre = value - 0.1 * place
            cell.add(run, metric, centre - 0.01, centre, centre + 0.01)
        cell.add_overall("retrain", "floor", 0.01 * (place + 1), at=metric)
    return cell


@pytest.fixture
def swept(plots_of):
    """Return a function: a cell and a sweep in, its plots by name out."""

    def build(cell, one=NUMBERS):
        plan = BenchmarkPlan(RUNS | {run: run for run in one.values}, None)
        plan = replace(plan, cells={cell.name: CellPlan((one,))})
        return plots_of("sweeps", cell, plan)

    return build


@pytest.mark.parametrize("value", ["hard", None, True])
def test_a_sweep_of_words_has_no_plot(swept, value):
    assert not swept(swept_cell(), sweep(own="soft", **{"1": value}))


def test_an_own_value_that_is_not_known_has_no_ring(swept):
    values = sweep(own=None, **{"1": 1.0, "0.01": 0.01, "9": 9.0})
    plots = swept(swept_cell("ga@lr=9"), values)
    [series] = plots["sweep-s-standard"].panels[0].series
    assert list(series.x) == [0.01, 1.0, 9.0] and math.isnan(series.ring_at)


@pytest.mark.parametrize(("largest", "scale"), [(1.0, "log"), (0.09, "linear")])
def test_values_that_span_a_decade_have_a_logarithmic_axis(swept, largest, scale):
    plots = swept(swept_cell(), sweep(own=0.05, **{"1": largest, "0.01": 0.01}))
    assert {panel.x.scale for plot in plots.values() for panel in plot.panels} == {scale}


def test_a_teacher_that_all_values_share_is_not_drawn(swept):
    cell = swept_cell()
    for run in NUMBERS.values:
        cell.add(run, "teacher_ua", 0.3, 0.4, 0.5)
    assert len(swept(cell)) == 2


def test_a_value_whose_seeds_all_collapsed_is_named_and_not_drawn(swept):
    values = sweep(own=0.1, **{"1": 1.0, "0.01": 0.01, "9": 9.0})
    cell = set_status(swept_cell("ga@lr=9"), "ga@lr=1", "collapsed")
    plot = swept(cell, values)["sweep-s-standard"]
    assert list(plot.panels[0].series[0].x) == [0.01, 0.1, 9.0]
    assert "1.0 collapsed (3 of 3 seeds): not drawn." in notes(plot)


def test_fewer_than_three_values_have_no_plot(swept):
    assert len(swept(swept_cell())) == 2
    assert swept(set_status(swept_cell(), "ga@lr=1", "collapsed")) == {}
    assert swept(set_status(swept_cell(), "ga", "collapsed")) == {}
    assert swept(swept_cell(), sweep(own=0.1, **{"1": 1.0})) == {}


def test_an_undefined_number_is_a_panel_that_says_so(swept):
    panels = swept(without(swept_cell(), "ra_affected"))["sweep-s-affected"].panels
    assert [panel.message for panel in panels] == ["undefined", "", ""]


@pytest.mark.parametrize(
    ("values", "is_log", "texts"),
    [
        ([0.5, 1, 2], False, ["0.5", "1", "2"]),
        ([1e-5, 1e-3, 1e-1], True, ["1e-05", "0.001", "0.1"]),
        ([1, 2, 100], False, []),  # the first two would touch
        ([3], False, []),
    ],
)
def test_every_swept_value_has_a_tick_unless_two_would_touch(values, is_log, texts):
    assert tick_values(values, is_log) == dict(zip(values, texts, strict=False))


def test_captions_name_the_parameter_and_the_method(swept):
    for plot in swept(swept_cell()).values():
        assert "GA" in plot.caption and "lr" in plot.caption and "{" not in plot.caption
        assert "95 % intervals over seeds" in plot.caption


# Paths of tracked runs, and verdicts.

ALL_WITHIN = "Ring: the base model. Cross: Retrain. One dot per epoch; means over seeds."


def test_a_paced_path_is_dashed_and_named(plots_of):
    plan = BenchmarkPlan(RUNS, "matched", {"digit_3-50": CellPlan(paced=("rl",))})
    plot = only(plots_of("trajectory", tracked_cell(), plan))
    lines = [one for one in plot.panels[0].series if one.mark == "line"]
    assert {one.run: one.look.dash for one in lines}["rl"] == "dashed"
    assert "Dashed: an epoch is no shorter run (RL)." in notes(plot)
    assert plot.names_are_legend


def test_a_run_that_goes_far_off_does_not_set_the_scale(plots_of):
    far = FakeCourse((0.4, 0.9, 0.95), (0, 1, 2))
    plot = only(plots_of("trajectory", tracked_cell(ga=far, rl=COURSES["rl"])))
    assert all(fit_y(panel)[1] < 50 for panel in plot.panels)
    assert {one.sets_scale for one in plot.panels[0].series if one.run == "ga"} == {False}
    assert (
        plot.notes[0] == f"{ALL_WITHIN} At the edge, as they end beyond: GA (a gap of 95 points)."
    )


def test_where_all_runs_are_within_the_plot_nothing_is_said_of_its_edge(plots_of):
    assert only(plots_of("trajectory", tracked_cell())).notes[0] == ALL_WITHIN


def test_a_share_of_retrains_time_has_a_line_if_it_is_right_of_the_left_edge(plots_of):
    """Retrain takes 100 s, and the axis begins at two thirds of the first epoch's seconds."""
    just = FakeCourse((0.4, 0.2), (0, 1.499 * 2))
    panel = only(plots_of("trajectory", tracked_cell(rl=just))).panels[1]
    assert panel.x.limits[0] == pytest.approx(1.9987, abs=1e-4)
    lines = {level.text: level.value for level in panel.levels if level.text.endswith("%")}
    assert lines == pytest.approx({"2 %": 2, "5 %": 5, "10 %": 10, "20 %": 20})


def test_a_run_that_ends_nowhere_is_drawn_as_far_as_it_goes(plots_of):
    lost = FakeCourse((0.4, 0.3, np.nan), (0, 1, 2))
    plot = only(plots_of("trajectory", tracked_cell(ga=lost, rl=COURSES["rl"])))
    assert "GA (undefined)" in notes(plot)


def verdict(folder, runs):
    [plot] = view_function("verdict", "plots")(table_of(folder, runs))
    return plot


def test_a_collapsed_run_is_hollow_at_the_edge_and_named(tmp_path):
    gone = replace(AWAY, status=("collapsed",) * 5)
    plot = verdict(tmp_path, {**ENDS, "iu": gone, "ft": ALIKE})
    [series] = [one for one in plot.panels[0].series if one.run == "iu"]
    assert series.y[0] > fit_y(plot.panels[0])[1] and series.x[0] > 0
    assert series.is_hollow and not series.sets_scale
    assert "Collapsed, at the edge: IU (error 51, damage 90)." in notes(plot)
    assert "not drawn" not in notes(plot)


def test_a_run_that_diverged_in_one_seed_is_left_out_and_named_once(tmp_path):
    lost = replace(ALIKE, status=("ok", "ok", "diverged", "ok", "ok"))
    plot = verdict(tmp_path, {**ENDS, "rl": lost, "ft": ALIKE})
    assert "rl" not in {one.run for one in plot.panels[0].series}
    assert notes(plot).count("RL diverged (1 of 5 seeds): not drawn.") == 1


def test_a_verdict_of_one_seed_has_no_box(tmp_path):
    parts = ("forget", "near", "far", "test", "far_test")
    runs = {
        run: replace(one, **{name: getattr(one, name)[:1] for name in parts})
        for run, one in {**ENDS, "ft": ALIKE}.items()
    }
    plot = verdict(tmp_path, runs)
    assert not plot.panels[0].bands and "One seed." in notes(plot)
    assert fit_x(plot.panels[0])[1] > 0


def test_without_numbers_there_is_no_verdict_to_draw(tmp_path):
    lost = replace(ALIKE, status=("diverged",) * 5)
    cell = table_of(tmp_path, {"retrain": ENDS["retrain"], "ft": lost})
    assert not list(view_function("verdict", "plots")(cell))


def two_epochs_cell():
    fake = full_cell()
    for epoch in range(2):
        fake.add("ga", "epoch_ua", 0.5, 0.6, 0.7, at=epoch)
    return fake


@pytest.mark.parametrize(
    ("finding", "fake", "grey"),
    [
        ("locality", full_cell, "between retrainings lie; a line inside it is no finding."),
        ("accuracy", full_cell, "Grey: where 95 % of differences between retrainings lie."),
        ("epochs", two_epochs_cell, "Grey: the range of 95 % of the means of other retrainings."),
    ],
)
def test_each_caption_says_what_its_grey_area_is(plots_of, finding, fake, grey):
    assert only(plots_of(finding, fake())).caption.endswith(grey)

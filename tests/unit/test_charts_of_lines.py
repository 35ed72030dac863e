"""Charts of lines and bars: the numbers of their figures, with intervals, and within the axis."""

import json
from dataclasses import replace

import numpy as np
import pytest
from fake_results import RUNS, full_cell, read_cell, read_cells, supports_cell, whole_class_cell
from scipy.stats import t

from collateral.findings._shared.prepared import Line, Panel, averaged, limits
from collateral.findings.accuracy.chart import charts as accuracy_charts
from collateral.findings.classes.chart import charts as class_charts
from collateral.findings.epochs.chart import charts as epoch_charts
from collateral.findings.localization import NEAREST
from collateral.findings.localization.chart import charts_across
from collateral.findings.support_size.chart import charts as support_charts
from collateral.findings.sweeps.chart import charts as sweep_charts
from collateral.report.charts import encode_chart
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep

T_OF_THREE = t.ppf(0.975, 2)


def rows_of(chart, **place):
    found = [row for row in chart.rows if place.items() <= row.items()]
    assert found
    return found


def test_a_line_has_means_intervals_and_chance_in_words():
    values = [np.array([40.0, 41.0, 42.0])]
    panel = Panel("UA (%)", "%", [Line("ga", "GA", [3.0], values)], level=41.0, chance=5.0)
    [row] = averaged([panel]).to_dict("records")
    half = T_OF_THREE / np.sqrt(3)
    assert (row["mean"], row["n"]) == (41.0, 3)
    assert row["high"] - row["mean"] == pytest.approx(half)
    assert row["said"] == f"41.0 [{41 - half:.1f}, {41 + half:.1f}] %"
    assert row["floor"] == "5.0 %"


def test_the_interval_of_two_values_is_said_and_not_drawn():
    line = Line("ga", "GA", [1.0], [np.array([10.0, 20.0])])
    [row] = averaged([Panel("", "points", [line])]).to_dict("records")
    assert "low" not in row
    assert row["said"].startswith("15.0 [−")


def test_a_run_that_does_not_set_the_scale_is_drawn_at_its_edge():
    near = Line("ft", "FT", [1.0], [np.array([90.0] * 3)])
    lost = Line("iu", "IU", [1.0], [np.array([10.0] * 3)], sets_scale=False)
    panel = Panel("UA (%)", "%", [near, lost], level=92.0, chance=1.0)
    low, _ = limits(panel)
    assert low > 80
    assert averaged([panel])["mean"].tolist() == [90.0, low]


def test_the_band_of_rates_ends_at_a_hundred_and_that_of_divergences_at_zero():
    assert Panel("", "%", level=99.0, chance=5.0).band == (94.0, 100.0)
    assert Panel("", "nats", level=0.0, chance=0.5).band == (0.0, 0.5)


def test_accuracies_by_epoch_are_those_of_the_table(tmp_path):
    fake = full_cell()
    for metric in ("ra", "ua", "ta", "ra_affected", "ua_affected", "ta_affected"):
        for epoch in range(3):
            fake.add("ga", f"epoch_{metric}", *(0.1 * epoch + 0.01 * s for s in range(3)), at=epoch)
    [chart] = epoch_charts(read_cell(tmp_path, fake))
    assert chart.name == "epochs"
    found = rows_of(chart, run="ga", panel="UA (%)")
    assert [(row["x"], row["mean"]) for row in found] == [(0, 1), (1, 11), (2, 21)]


def test_the_bars_of_the_affected_classes_are_deviations_from_retrain(tmp_path):
    cell = read_cell(tmp_path, full_cell())
    [chart] = accuracy_charts(cell)
    [row] = rows_of(chart, run="rl", metric="UA affected")
    paired = 100 * (cell.values("rl", "ua_affected") - cell.values("retrain", "ua_affected"))
    half = T_OF_THREE * paired.std(ddof=1) / np.sqrt(3)
    assert row["mean"] == pytest.approx(paired.mean(), rel=1e-4)
    assert row["high"] == pytest.approx(paired.mean() + half, rel=1e-3)
    limits_of_chance = [row for row in chart.rows if "run" not in row]
    assert len(limits_of_chance) == 3


def test_classes_have_a_panel_a_run_headed_by_its_slope(tmp_path):
    cell = read_cell(tmp_path, whole_class_cell())
    [chart] = class_charts(cell)
    [row] = rows_of(chart, run="ga", **{"class": "digit_5"})
    assert row["drop"] == pytest.approx(5.0)
    assert row["fit"] == pytest.approx(5.0)
    assert row["panel"] == "GA, slope 1.00 [0.50, 1.50]"


def sweep_of(fake, folder):
    values = {"ga": 0.1, "ga@lr=1": 1.0}
    for metric in ("ua", "ra", "ta", "mia"):
        fake.add("ga@lr=1", metric, 0.2, 0.3, 0.4)
    sweep = Sweep("rate", "GA", "lr", "ga", values, {run: str(v) for run, v in values.items()})
    labels = {**RUNS, "ga@lr=1": "GA, lr 1"}
    plan = BenchmarkPlan(labels, "matched", {fake.name: CellPlan((sweep,))})
    return read_cell(folder, fake, plan)


def test_a_sweep_belongs_to_its_method_and_its_own_value_has_a_ring(tmp_path):
    cell = sweep_of(full_cell(), tmp_path)
    chart = next(chart for chart in sweep_charts(cell) if chart.name == "sweep-rate-standard")
    found = rows_of(chart, run="ga", panel="UA (%)")
    assert [(row["x"], "is_own" in row) for row in found] == [(0.1, True), (1.0, False)]
    assert found[1]["mean"] == pytest.approx(30)
    assert {row["run"] for row in chart.rows} == {"ga"}  # the switch of GA hides it


def test_a_value_of_a_sweep_that_did_not_run_is_left_out(tmp_path):
    cell = sweep_of(full_cell(), tmp_path)
    [sweep] = cell.plan.sweeps
    values, labels = {**sweep.values, "ga@lr=9": 9.0}, {**sweep.labels, "ga@lr=9": "9"}
    more = replace(sweep, values=values, labels=labels)
    lacking = replace(cell, plan=CellPlan((more,)))
    chart = next(iter(sweep_charts(lacking)))
    assert {row["x"] for row in chart.rows} == {0.1, 1.0}


def test_supports_have_a_chart_for_every_figure(tmp_path):
    found = {chart.name: chart for chart in support_charts(read_cell(tmp_path, supports_cell()))}
    assert {*found} == {"support-kl", "support-accuracy", "support-drop", "support-retrain"}
    rates = rows_of(found["support-accuracy"], panel="Teacher on the forget set (%)")
    assert [row["x"] for row in rates] == [20, 50, 80]
    assert [row["mean"] for row in rates] == pytest.approx([100.1, 80.1, 70.1], rel=1e-4)
    bins = [row for row in found["support-drop"].rows if "mean" in row]
    assert max(row["mean"] for row in bins) == pytest.approx(40.1, rel=1e-4)
    assert [row["floor"] for row in found["support-kl"].rows][:3] == ["0.050 nats"] * 3


def test_a_line_over_all_cells_is_the_mean_over_them(tmp_path):
    cells = [full_cell(name) for name in ("digit_3-50", "digit_8-90", "digit_1-50")]
    for place, fake in enumerate(cells):
        for run, height in (("retrain", 0.01), ("ga", 0.1 * (place + 1))):
            for share in NEAREST:
                for name in ("retain", "test"):
                    fake.add(run, "nearest_difference", *[height] * 3, set=name, at=share)
    [chart] = charts_across(read_cells(tmp_path, *cells))
    [row] = rows_of(chart, run="ga", x=5, panel="Test examples")
    assert row["mean"] == pytest.approx(20)
    assert row["n"] == 3
    [floor] = rows_of(chart, run="retrain", x=5, panel="Test examples")
    assert (floor["mean"], floor["is_aside"]) == (1.0, True)


def test_rows_are_packed_so_that_no_name_is_written_twice(tmp_path):
    [chart] = accuracy_charts(read_cell(tmp_path, full_cell()))
    columns = encode_chart(chart)["columns"]
    values = {
        name: column.get("is") or [column["of"][at] for at in column["at"]]
        for name, column in columns.items()
    }
    again = [
        {name: column[k] for name, column in values.items() if column[k] is not None}
        for k in range(len(chart.rows))
    ]
    assert again == list(chart.rows)
    text = json.dumps(encode_chart(chart), allow_nan=False)
    assert len(text) < len(json.dumps({"spec": chart.spec, "rows": chart.rows}))
    assert text.count('"GA"') <= len(json.dumps(chart.spec).split('"GA"'))

"""The charts of the page draw what the figures draw, and leave out what is switched off."""

import json

import numpy as np
import pandas as pd
import pytest
from counted_cell import Wrong, table_of
from fake_results import RUNS, full_cell, read_cell
from scipy.stats import t

from collateral.contract.charts import Chart
from collateral.findings._shared.charts import rows_of
from collateral.findings._shared.scale import COLLAPSED, reach, sets_scale
from collateral.findings._shared.spoken import spoken
from collateral.findings._shared.style import looks
from collateral.findings.locality.chart import averaged, charts
from collateral.findings.locality.prepared import MEASURES, SETS, ends, prepared
from collateral.findings.verdict import COLLAPSED as COLLAPSED_VERDICT
from collateral.findings.verdict import VERDICTS
from collateral.findings.verdict.chart import LINE, SIZE, in_words, with_names
from collateral.findings.verdict.chart import charts as verdict_charts
from collateral.findings.verdict.picture import limits, points

RETRAINED = Wrong((25,) * 3, (1, 0, 2), (0,) * 3, (20, 21, 22))
HURT = Wrong((26, 25, 27), (20, 21, 19), (2, 1, 3), (25,) * 3)
BROKEN = Wrong((50,) * 3, (40,) * 3, (150,) * 3, (95,) * 3, ("collapsed",) * 3)


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    return read_cell(tmp_path_factory.mktemp("cell"), full_cell())


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A cell with all numbers of two methods, of which IU collapsed in every seed."""
    runs = {"retrain": RETRAINED, "ga": HURT, "iu": BROKEN}
    return table_of(tmp_path_factory.mktemp("counted"), runs)


def test_the_chart_of_similarity_has_the_means_of_the_figure(cell):
    [chart] = charts(cell)
    assert chart.name == "similarity"
    place = {"run": "ga", "set": SETS["test"], "metric": MEASURES["delta_conf"]}
    found = [row for row in chart.rows if place.items() <= row.items()]
    [row] = [row for row in found if row["centre"] == pytest.approx(0.45)]
    values = 100 * cell.values("ga", "delta_conf", "test", 4)
    assert row["mean"] == pytest.approx(values.mean(), rel=1e-4)
    half = t.ppf(0.975, 2) * values.std(ddof=1) / np.sqrt(3)
    assert row["high_end"] - row["mean"] == pytest.approx(half, rel=1e-3)


def test_an_interval_is_of_the_seeds_that_have_the_bin(tmp_path):
    fake = full_cell()
    for row in fake.metrics:
        if (row["metric"], row["at"], row["seed"], row["run"]) == ("delta_acc", "4", "0", "ga"):
            row["value"] = ""
    rows = averaged(read_cell(tmp_path, fake))
    [known] = rows[(rows["run"] == "ga") & (rows["n"] == 2)]["set"].unique()[:1]
    of_two = rows[(rows["run"] == "ga") & (rows["n"] == 2) & (rows["set"] == known)].iloc[0]
    cell = read_cell(tmp_path, fake)
    values = 100 * cell.values("ga", "delta_acc", "retain", 4)[1:]
    half = t.ppf(0.975, 1) * values.std(ddof=1) / np.sqrt(2)
    said = f"{values.mean():+.1f} [{values.mean() - half:+.1f}, ".replace("-", "−")
    assert of_two["said"].startswith(said)


def test_chance_is_drawn_once_a_bin_and_belongs_to_no_run(cell):
    rows = averaged(cell)
    alone = rows[rows["run"].isna()]
    assert len(alone) == len(alone.drop_duplicates(["set", "metric", "low"])) == 2 * 2 * 10


def test_a_run_that_is_switched_off_is_filtered_before_anything_is_drawn(cell):
    [chart] = charts(cell)
    assert chart.spec["transform"][0] == {"filter": "indexof(hidden, datum.run) < 0"}
    assert {"name": "hidden", "value": []} in chart.spec["params"]
    assert {row["run"] for row in chart.rows if "run" in row} == {*RUNS}


def test_colours_are_those_of_print(cell):
    [chart] = charts(cell)
    spec = json.dumps(chart.spec)
    for run, look in looks(cell).items():
        assert f'"{cell.labels[run]}"' in spec
        assert look.control or f'"{look.colour}"' in spec


def test_what_collapsed_does_not_set_the_scale_and_is_named(counted, tmp_path):
    assert VERDICTS.index(COLLAPSED_VERDICT) == COLLAPSED
    assert sets_scale(counted, "ga") and not sets_scale(counted, "iu")
    broken = read_cell(tmp_path, full_cell(diverged=("ga",)))
    assert not sets_scale(broken, "ga")
    [chart] = charts(broken)
    assert chart.caption.endswith("Collapsed, at the edge where beyond it: GA.")
    low, high = ends(broken, prepared(broken))["delta_acc"]
    shown = [row["mean"] for row in chart.rows if row["metric"] == "Accuracy" and "mean" in row]
    assert min(shown) >= low - 1e-3 and max(shown) <= high + 1e-3


def test_a_collapsed_run_is_in_the_picture_and_one_without_a_price_too(counted):
    [chart] = verdict_charts(counted)
    assert {row["run"] for row in chart.rows} == {"ga", "iu"}
    rows = in_words(points(counted).assign(price=np.nan))
    assert (rows["area"] > 0).all()  # a size that Vega draws
    assert (rows["time"] == "–").all()


def named(*x: float, y: float = 0.0) -> pd.DataFrame:
    """Return runs of one damage, and where their names are."""
    rest = {"y": y, "is_edge": False, "damage": y, "forgetting_error": 40.0, "area": 18.0}
    floors = {"floor_damage": 1.0, "floor_error": 1.0}
    return with_names(pd.DataFrame({"x": x, "label": "Method", **rest, **floors}))


def test_names_of_points_at_one_place_stand_above_each_other_and_are_tied_to_them():
    frame = named(1.0, 1.0, 1.1, 40.0)
    first, second, third, alone = frame["name_y"]
    assert first == alone == 0
    assert second > first
    assert third > second
    assert frame["is_moved"].tolist() == [False, True, True, False]


def test_names_of_a_crowd_near_the_top_stay_in_the_picture_and_apart():
    frame = named(*[1.0] * 10, y=30.0)
    low, high, _ = limits(frame)
    assert frame["name_y"].between(low, high).all()
    line = LINE * (high - low) / SIZE["height"]
    assert (np.diff(np.sort(frame["name_y"])) >= line).all()
    assert frame["name_y"].min() < 30 < frame["name_y"].max()


def test_a_name_begins_right_of_its_mark_and_stands_on_no_other():
    left, right = named(1.0, 4.0).itertuples()
    assert 1 < left.name_x < 4 < right.name_x
    assert (left.is_moved, right.is_moved) == (True, False)


def test_ties_are_drawn_of_names_that_stand_elsewhere_alone(counted):
    [chart] = verdict_charts(counted)
    [tie] = [layer for layer in chart.spec["layer"] if "is_moved" in str(layer.get("transform"))]
    ends = {channel: tie["encoding"][channel]["field"] for channel in ("x", "y", "x2", "y2")}
    assert ends == {"x": "x", "y": "y", "x2": "name_x", "y2": "name_y"}


def test_an_interval_that_is_none_is_not_spoken_of():
    known = spoken(1.0, (-0.5, 1.5), 2.0)
    assert known == {"said": "+1.0 [−0.5, +1.5] points", "floor": "2.0 points"}
    assert spoken(2.0, (np.nan, np.nan), np.nan) == {"said": "+2.0 points", "floor": "–"}
    assert spoken(np.nan, (np.nan, np.nan), np.nan)["said"] == "–"


def test_numbers_are_rounded_and_what_is_none_is_left_out():
    frame = pd.DataFrame({"x": [1 / 3, np.nan], "n": [1, 2]})
    assert rows_of(frame) == [{"x": 0.33333, "n": 1}, {"n": 2}]


def test_an_axis_reaches_a_little_beyond_what_it_shows():
    assert reach([0.0, 10.0, np.nan], (-10.0,)) == pytest.approx((-11, 11))


def test_a_chart_says_what_it_draws(counted):
    for chart in (*charts(counted), *verdict_charts(counted)):
        assert isinstance(chart, Chart)
        assert chart.caption and chart.spec["description"]
        json.dumps({"spec": chart.spec, "rows": chart.rows}, allow_nan=False)

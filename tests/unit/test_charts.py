"""The charts of the page draw what the figures draw, and leave out what is switched off."""

import json

import numpy as np
import pandas as pd
import pytest
from fake_results import RUNS, full_cell, read_cell

from collateral.findings._shared.charts import reach, rows_of
from collateral.findings._shared.style import looks
from collateral.findings.locality.chart import averaged, charts
from collateral.findings.locality.prepared import MEASURES, SETS
from collateral.findings.verdict.chart import heights_of_names


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    return read_cell(tmp_path_factory.mktemp("cell"), full_cell())


def test_the_chart_of_similarity_has_the_means_of_the_figure(cell):
    [chart] = charts(cell)
    assert chart.name == "similarity"
    [row] = [
        row
        for row in chart.rows
        if (row["run"], row["set"], row["metric"], row["bin"])
        == ("ga", SETS["test"], MEASURES["delta_conf"], 4)
    ]
    values = 100 * cell.values("ga", "delta_conf", "test", 4)
    assert row["mean"] == pytest.approx(values.mean(), rel=1e-4)
    # Student's t of three seeds, two degrees of freedom.
    half = 4.302653 * values.std(ddof=1) / np.sqrt(3)
    assert row["high_end"] - row["mean"] == pytest.approx(half, rel=1e-3)


def test_chance_is_drawn_once_a_bin_and_belongs_to_no_run(cell):
    rows = averaged(cell)
    alone = rows[rows["run"].isna()]
    assert len(alone) == len(alone.drop_duplicates(["set", "metric", "bin"])) == 2 * 2 * 10


def test_a_run_that_is_switched_off_is_filtered_before_anything_is_drawn(cell):
    [chart] = charts(cell)
    assert chart.spec["transform"][0] == {"filter": "indexof(hidden, datum.run) < 0"}
    assert {"name": "hidden", "value": []} in chart.spec["params"]
    assert {row["run"] for row in chart.rows if row["run"]} == {*RUNS}


def test_colours_are_those_of_print(cell):
    [chart] = charts(cell)
    spec = json.dumps(chart.spec)
    for run, look in looks(cell).items():
        assert f'"{cell.labels[run]}"' in spec
        assert look.control or f'"{look.colour}"' in spec


def test_a_run_in_trouble_does_not_set_the_scale(tmp_path):
    whole = read_cell(tmp_path / "whole", full_cell())
    broken = read_cell(tmp_path / "broken", full_cell(diverged=("ga",)))

    def top(cell):
        [chart] = charts(cell)
        return max(_domains(chart.spec))

    assert top(broken) < top(whole)


def _domains(spec):
    """Yield the ends of all numeric scales."""
    if isinstance(spec, dict):
        domain = spec.get("domain")
        if isinstance(domain, list) and all(isinstance(end, float) for end in domain):
            yield from domain
        for value in spec.values():
            yield from _domains(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from _domains(value)


def test_numbers_are_rounded_and_what_is_none_is_null(cell):
    rows = rows_of(averaged(cell))
    json.dumps(rows, allow_nan=False)
    assert all(len(repr(row["centre"])) < 9 for row in rows)


def test_an_axis_reaches_a_little_beyond_what_it_shows():
    assert reach([0.0, 10.0, np.nan], (-10.0,)) == pytest.approx([-11, 11])


def test_names_of_points_at_one_place_stand_above_each_other():
    places = {"x": [1.0, 1.0, 1.1, 40.0], "y": [0.0, 0.0, 0.0, 0.0]}
    rest = {"is_edge": False, "damage": 0.0, "forgetting_error": 40.0}
    frame = pd.DataFrame({**places, **rest, "floor_damage": 1.0, "floor_error": 1.0})
    first, second, third, alone = heights_of_names(frame)
    assert first == alone == 0
    assert second > first
    assert third > second

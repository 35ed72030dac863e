"""The tug of war: products worked out by hand, Retrain against the next seed, what is undefined."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import Wrong, counted, table_of
from table_reading import lines_of, texts_of

from collateral.findings.tug_of_war.views import tables
from collateral.metrics.statistics import tug_of_war

# Of 50 forgotten, 40 near, 160 far and 100 test examples.
RETRAINED = Wrong(forget=(25, 20), near=(0, 0), far=(0, 0), test=(10, 20))
OWN = Wrong(forget=(30, 20), near=(20, 0), far=(0, 0), test=(30, 20))
RUNS = {"retrain": RETRAINED, "ft": OWN}


@pytest.fixture
def numbers(tmp_path):
    return counted(RUNS).numbers(tmp_path)


def test_the_product_is_as_worked_out_by_hand():
    own, retrained = np.array([[0.4], [0.9], [0.7]]), np.array([[0.5], [1.0], [0.9]])
    assert tug_of_war(own, retrained) == pytest.approx([0.9 * 0.9 * 0.8])


def test_a_run_is_compared_with_retrain_of_the_same_seed(numbers):
    # UA 0.4 and 0.5, RA 0.9 and 1, TA 0.7 and 0.9; on the second seed nothing differs.
    assert numbers["ft", 0, "tow"] == pytest.approx(0.9 * 0.9 * 0.8)
    assert numbers["ft", 1, "tow"] == 1


def test_the_attack_takes_the_place_of_the_forget_set(numbers):
    lost = abs(numbers["ft", 0, "mia"] - numbers["retrain", 0, "mia"])
    assert numbers["ft", 0, "tow_mia"] == pytest.approx((1 - lost) * 0.9 * 0.8)


def test_retrain_is_compared_with_retrain_of_the_next_seed(numbers):
    # UA 0.5 and 0.6, TA 0.9 and 0.8.
    expected = pytest.approx(0.9 * 0.9)
    assert [numbers["retrain", seed, "tow"] for seed in (0, 1)] == [expected] * 2


def first_seed(wrong: Wrong) -> Wrong:
    return Wrong(wrong.forget[:1], wrong.near[:1], wrong.far[:1], wrong.test[:1])


def test_with_one_seed_a_run_has_a_product_and_retrain_has_none(tmp_path):
    numbers = counted({run: first_seed(wrong) for run, wrong in RUNS.items()}).numbers(tmp_path)
    assert numbers["ft", 0, "tow"] == pytest.approx(0.9 * 0.9 * 0.8)
    assert math.isnan(numbers["retrain", 0, "tow"])


def test_a_diverged_run_has_no_tug_of_war(tmp_path):
    runs = {**RUNS, "ft": replace(OWN, status=("diverged", "ok"))}
    numbers = counted(runs).numbers(tmp_path)
    assert math.isnan(numbers["ft", 0, "tow"]) and math.isnan(numbers["ft", 0, "tow_mia"])
    assert numbers["ft", 1, "tow"] == 1


def test_the_table_ends_with_retrain_of_the_next_seed(tmp_path):
    [table] = tables(table_of(tmp_path, RUNS))
    [grid] = table.grids
    assert grid.headings == ["ToW", "ToW-MIA"]
    assert texts_of(grid)["FT"][0] == "0.824 ± 0.249"
    assert list(lines_of(grid)) == ["FT", "Retrain, next seed"]
    assert "n = 2 seeds" in table.caption
    assert [record["metric"] for record in table.records] == ["tow", "tow_mia"] * 2


def test_with_one_seed_the_table_has_the_runs_alone(tmp_path):
    [table] = tables(table_of(tmp_path, {run: first_seed(wrong) for run, wrong in RUNS.items()}))
    assert list(lines_of(table.grids[0])) == ["FT"]


def test_without_a_run_there_is_retrain_alone_and_of_one_seed_nothing(tmp_path):
    [table] = tables(table_of(tmp_path / "two", {"retrain": RETRAINED}))
    assert list(lines_of(table.grids[0])) == ["Retrain, next seed"]
    assert list(tables(table_of(tmp_path / "one", {"retrain": first_seed(RETRAINED)}))) == []

"""Ours beside the paper's: its 819 cells, and where and how far they are from ours."""

import math

import pytest
from collateral.findings.paper.views import tables
from fake_results import FakeCell, read_cell

from collateral.results.files import read_rows
from collateral.results.plan import BenchmarkPlan, CellPlan
from paper.printed import (
    FILE,
    Printed,
    Setting,
    cell_setting,
    in_standard_errors,
    printed,
    settings,
)

COUCH = Setting("cifar100", "resnet56", "couch", 0.5)
RUNS = {"ltd": "LTD", "neighbor": "Neighbor", "ltd@support=random": "LTD, support random"}


def test_all_cells_of_the_papers_tables_are_there():
    assert len(list(read_rows(FILE))) == 819
    assert len(settings()) == 9


def test_a_number_that_several_tables_have_is_the_firsts():
    found = {(one.run, one.metric): one for one in printed(COUCH)}
    assert len(found) == len(printed(COUCH))
    assert found["retrain", "rte"] == Printed(1, "retrain", "rte", 1558.9, 22.0, 5)
    assert found["ltd", "teacher_ua"].mean == pytest.approx(0.4792)
    assert found["neighbor@k=500", "ua"].runs is None


def test_both_kinds_of_gaps_are_separate_columns():
    found = {(one.run, one.metric): one.mean for one in printed(COUCH)}
    assert found["ltd", "avg_gap"] == pytest.approx(0.024)
    assert found["ltd", "avg_gap_affected"] == pytest.approx(0.049)


@pytest.mark.parametrize(
    ("data", "forgotten", "expected"),
    [
        ({"name": "cifar100"}, {"couch": (250, 500)}, COUCH),
        ({"name": "svhn"}, {"digit_9": (4193, 4659)}, Setting("svhn", "resnet56", "digit_9", 0.9)),
        ({"name": "cifar100", "per_class": 250}, {"couch": (125, 250)}, None),
        ({"name": "cifar100"}, {"couch": (250, 500), "bed": (5, 500)}, None),
        ({}, {"couch": (250, 500)}, None),
    ],
)
def test_a_setting_is_of_a_whole_data_set_and_one_class(data, forgotten, expected):
    assert cell_setting(data, "resnet56", forgotten) == expected


def test_a_difference_is_counted_in_standard_errors_of_both():
    theirs = Printed(1, "ltd", "ua", 0.5, 0.06, 5)
    assert theirs.standard_error == pytest.approx(0.03)
    assert in_standard_errors(0.6, 0.04, theirs) == pytest.approx(2.0)
    assert math.isnan(in_standard_errors(0.6, math.nan, theirs))


def cell_of(model: str = "resnet56") -> tuple[FakeCell, BenchmarkPlan]:
    cell = FakeCell("couch-50", "couch", "0.5")
    for run, ua in {"retrain": 0.4, "ltd": 0.6, "ltd@support=random": 0.2}.items():
        cell.add(run, "ua", ua - 0.01, ua, ua + 0.01)
    cell.add_overall("ltd", "avg_gap", 0.02)
    cell.add("ltd", "epoch_ua", 0.1, 0.1, 0.1, at=1)
    cell.add_overall("retrain", "forget_count", 250, at="couch")
    cell.add_overall("retrain", "train_count", 500, at="couch")
    plan = BenchmarkPlan(RUNS, "matched", {"couch-50": CellPlan()}, {"name": "cifar100"}, model)
    return cell, plan


def test_the_table_has_what_both_have(tmp_path):
    (table,) = tables(read_cell(tmp_path, *cell_of()))
    found = {(record["run"], record["metric"]): record for record in table.records}
    assert {*found} == {(run, "ua") for run in ("retrain", "ltd")} | {("ltd", "avg_gap")}
    # The paper's UA of LTD is 53.4 ± 8.4.
    theirs, error = 0.534, math.hypot(0.084 / 2, 0.01 / math.sqrt(3))
    assert found["ltd", "ua"]["paper_mean"] == theirs
    assert found["ltd", "ua"]["standard_errors"] == pytest.approx((0.6 - theirs) / error)
    assert math.isnan(found["ltd", "avg_gap"]["standard_errors"])
    texts = [field.value for field in table.grids[0].groups[0][1].fields]
    assert texts[:4] == ["UA (%)", "60.0 ± 1.0", "53.4 ± 8.4", "+6.6"]


def test_there_is_none_of_another_model(tmp_path):
    assert list(tables(read_cell(tmp_path, *cell_of("resnet20")))) == []

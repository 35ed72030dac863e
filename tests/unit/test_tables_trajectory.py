"""Who leads within a share of Retrain's cost: the table, and the words."""

import pytest
from fake_results import COURSES, RUNS, FakeCourse, full_cell, read_cell, tracked_cell
from table_reading import field_at, lines_of

from collateral.findings.trajectory.table import tables
from collateral.findings.trajectory.words import words
from collateral.results.plan import BenchmarkPlan, CellPlan

SHARES = ("1 %", "2 %", "5 %", "10 %", "20 %")


@pytest.fixture
def table(tmp_path):
    [found] = tables(read_cell(tmp_path, tracked_cell()))
    return found


def best(table) -> dict[str, list[str]]:
    lines = lines_of(table.grids[0])
    return {share: [n for n in lines if field_at(table, n, share).is_best] for share in SHARES}


def test_a_method_has_its_latest_model_in_time_and_its_epoch(table):
    texts = [field_at(table, "RL", share).value for share in SHARES]
    assert texts == ["–", "20.0 (1)", "15.0 (3)", "15.0 (3)", "15.0 (3)"]
    assert [field_at(table, "FT", share).value for share in SHARES[1:]] == [
        "–",
        "38.0 (1)",
        "36.0 (2)",
        "35.0 (3)",
    ]


def test_the_smallest_gap_of_those_that_have_a_model_leads(table):
    assert best(table) == {"1 %": ["GA"], **{key: ["RL"] for key in SHARES[1:]}}


def test_the_end_is_told_with_its_cost(table):
    assert field_at(table, "RL", "At its end").value == "15.0 at 4.0 %"


def test_of_another_device_than_retrains_there_is_no_share_of_its_cost(tmp_path):
    cell = tracked_cell()
    for run, device in (("retrain", "A100"), ("ft", "A100"), ("ga", "A100"), ("rl", "V100")):
        cell.add(run, "on_device", *[1.0] * 3, at=device)
    [found] = tables(read_cell(tmp_path, cell))
    assert field_at(found, "RL", "At its end").value == "15.0"
    assert field_at(found, "FT", "At its end").value == "35.0 at 12.0 %"
    assert "V100: RL" in found.caption


def test_the_number_of_seeds_is_stated(table, tmp_path):
    assert "Means over n = 3 seeds." in table.caption
    [one] = tables(read_cell(tmp_path / "one", tracked_cell(num_seeds=1)))
    assert "One seed." in one.caption


def test_a_run_that_collapsed_is_not_ranked(tmp_path):
    bad = FakeCourse((0.4, 0.01), (0, 0.5), status="collapsed")
    [found] = tables(read_cell(tmp_path, tracked_cell(ga=bad, rl=COURSES["rl"])))
    assert best(found) == {"1 %": [], **{key: ["RL"] for key in SHARES[1:]}}
    assert field_at(found, "GA", "1 %").value == "1.0 (1)"


def test_a_paced_run_has_its_end_alone_and_is_not_ranked(tmp_path):
    plan = BenchmarkPlan(RUNS, "matched", {"digit_3-50": CellPlan(paced=("rl",))})
    [found] = tables(read_cell(tmp_path, tracked_cell(), plan))
    texts = [field_at(found, "RL*", share).value for share in SHARES]
    assert texts == ["–", "–", "15.0 (3)", "15.0 (3)", "15.0 (3)"]
    assert best(found) == {
        **{key: ["GA"] for key in ("1 %", "2 %")},
        "5 %": ["FT"],
        "10 %": ["FT"],
        "20 %": ["FT"],
    }
    assert "*: its epochs depend on how many there are" in found.conventions


def test_the_csv_has_the_numbers_unrounded_with_their_seconds(table):
    rows = [row for row in table.records if row["run"] == "rl"]
    assert [(row["percent"], row["epoch"], row["seconds"]) for row in rows[1:3]] == [
        (2, 1, 2.0),
        (5, 3, 4.0),
    ]
    assert [row["best"] for row in rows] == [False, True, True, True, True]


def test_words_name_who_leads(tmp_path):
    said = words(read_cell(tmp_path, tracked_cell()))
    assert "within 1 % GA (39.0 points), within 2 % RL (20.0 points), within 5 % still RL" in said
    assert said.endswith(".")


def test_words_make_no_claim_of_one_seed(tmp_path):
    said = words(read_cell(tmp_path, tracked_cell(num_seeds=1)))
    assert said.startswith("One seed, so no claim: nearest")


def test_where_nobody_is_in_time_that_is_said(tmp_path):
    slow = tracked_cell(ft=FakeCourse((0.4, 0.2), (50, 60)))
    said = words(read_cell(tmp_path, slow))
    assert said == "No ranked method has a model within 20 % of Retrain's cost."


def test_without_tracked_runs_there_is_nothing(tmp_path):
    cell = read_cell(tmp_path, full_cell())
    assert words(cell) == ""
    assert list(tables(cell)) == []

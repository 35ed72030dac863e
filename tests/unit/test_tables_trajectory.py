"""Who leads within a share of Retrain's cost: the table, and the words."""

from pathlib import Path

import pytest
from fake_results import COURSES, RUNS, FakeCourse, full_cell, read_cell, tracked_cell
from table_reading import field_at, lines_of

from collateral.findings.trajectory.views import tables, words
from collateral.results.plan import BenchmarkPlan, CellPlan
from collateral.results.table import read_tables

KEPT = Path(__file__).parents[2] / "docs/data"
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
    assert table.caption.endswith("digit_3, 50 % forgotten. Means over n = 3 seeds.")
    [one] = tables(read_cell(tmp_path / "one", tracked_cell(num_seeds=1)))
    assert "One seed." in one.caption


def test_controls_and_doing_nothing_are_set_apart_from_methods(tmp_path):
    plan = BenchmarkPlan({**RUNS, "ideal": "Ideal"}, "matched", {"digit_3-50": CellPlan()})
    cell = tracked_cell(rl=COURSES["rl"], ideal=FakeCourse((0.4, 0.01), (0, 0.5)))
    [found] = tables(read_cell(tmp_path, cell, plan))
    lines = lines_of(found.grids[0])
    assert {n: lines[n].is_aside for n in lines} == {"RL": False, "Ideal": True, "Do nothing": True}


def test_doing_nothing_takes_no_epoch_and_no_time(table):
    idle = [row for row in table.records if row["label"] == "Do nothing"]
    assert [row["percent"] for row in idle] == [1, 2, 5, 10, 20]
    assert {(row["epoch"], row["seconds"]) for row in idle} == {(0, 0.0)}


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
    assert "*: not ranked: its schedule depends on the number of epochs" in found.conventions
    plan = BenchmarkPlan(RUNS, "matched", {"digit_3-50": CellPlan(paced=("salun",))})
    [found] = tables(read_cell(tmp_path, tracked_cell(), plan))
    assert "*: not ranked" not in found.conventions  # The paced run is not in the table.


def test_the_csv_has_the_numbers_unrounded_with_their_seconds(table):
    rows = [row for row in table.records if row["run"] == "rl"]
    assert [(row["percent"], row["epoch"], row["seconds"]) for row in rows[1:3]] == [
        (2, 1, 2.0),
        (5, 3, 4.0),
    ]
    assert [row["best"] for row in rows] == [False, True, True, True, True]


def test_words_name_who_leads(tmp_path):
    said = words(read_cell(tmp_path, tracked_cell()))
    assert "within 1 % GA (39.0 points), within 2 % RL (20.0 points), within 5 % RL" in said
    assert said.endswith(".")


def test_words_make_no_claim_of_one_seed(tmp_path):
    said = words(read_cell(tmp_path, tracked_cell(num_seeds=1)))
    assert said.startswith("One seed, so no claim: nearest")


def test_where_nobody_is_in_time_that_is_said(tmp_path):
    slow = tracked_cell(ft=FakeCourse((0.4, 0.2), (50, 60)))
    said = words(read_cell(tmp_path, slow))
    assert said == "No ranked method has a model within 20 % of Retrain's cost."


def test_a_share_that_is_not_named_is_spoken_of_only_if_there_is_one(tmp_path):
    fast = tracked_cell(ga=FakeCourse((0.4, 0.3, 0.2, 0.1, 0.05, 0.01), (0, 1, 2, 5, 10, 20)))
    assert "not named" not in words(read_cell(tmp_path, fast))


def test_without_tracked_runs_there_is_nothing(tmp_path):
    cell = read_cell(tmp_path, full_cell())
    assert words(cell) == ""
    assert list(tables(cell)) == []


def kept_cells() -> list:
    """Return all cells of the runs kept in docs/data whose methods were tracked."""
    folders = sorted(path.parent for path in KEPT.glob("*/plan.json"))
    found = [
        cell
        for folder in folders
        for cell in read_tables(
            BenchmarkPlan.load(folder / "plan.json"), folder / "metrics.csv", folder / "costs.csv"
        ).cells
    ]
    tracked = [cell for cell in found if list(tables(cell))]
    assert len(tracked) == 6
    return tracked


@pytest.mark.parametrize("cell", kept_cells(), ids=lambda cell: cell.name)
def test_no_method_of_a_real_run_leads_that_is_no_nearer_than_doing_nothing(cell):
    idle = 100 * cell.number("original", "avg_gap")
    [found] = tables(cell)
    names = lines_of(found.grids[0])
    led = [field_at(found, n, s) for n in names for s in SHARES if field_at(found, n, s).is_best]
    assert led and all(100 * field.order < idle for field in led)
    assert {field_at(found, "Do nothing", share).value for share in SHARES} == {f"{idle:.1f}"}
    assert words(cell).endswith(f"Doing nothing has {idle:.1f} points.")


def test_a_real_method_that_has_done_nothing_yet_does_not_lead():
    """After two epochs at 1 % of the cost GA's answers were still those of the base model."""
    [cell] = [one for one in kept_cells() if one.name == "digit_9-90"]
    [found] = tables(cell)
    assert field_at(found, "GA", "1 %").value == "51.0 (2)"
    assert best(found)["1 %"] == []
    assert "within 1 %" not in words(cell)


# As on scikit-learn's digits: a step is enough, and more of them do harm.
HARMFUL = {
    "ga": FakeCourse((0.033, 0.017, 0.105, 0.199), (0, 1, 2, 5)),
    "ft": FakeCourse((0.033, 0.031), (0, 10)),
}


def test_whoever_may_spend_more_may_stop_earlier(tmp_path):
    cell = read_cell(tmp_path, tracked_cell(**HARMFUL))
    [found] = tables(cell)
    assert best(found) == {"1 %": ["GA"], **{key: [] for key in SHARES[1:]}}
    assert "is within 1 % GA (1.7 points). A larger share that is not named " in words(cell)


def test_where_no_method_is_nearer_than_doing_nothing_this_is_said(tmp_path):
    worse = FakeCourse((0.033, 0.105, 0.199), (0, 2, 5))
    cell = read_cell(tmp_path, tracked_cell(ga=worse))
    [found] = tables(cell)
    assert best(found) == {key: [] for key in SHARES}
    assert words(cell) == (
        "No ranked method is nearer to Retrain within 20 % of Retrain's cost than doing nothing "
        "(3.3 points)."
    )
    idle = [row for row in found.records if row["run"] == "original"]
    assert [(row["percent"], row["avg_gap"], row["best"]) for row in idle[:2]] == [
        (1, 0.033, False),
        (2, 0.033, False),
    ]

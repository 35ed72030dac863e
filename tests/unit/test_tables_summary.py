"""Wins and ranks over cells: two cells worked by hand."""

import math
from dataclasses import replace

import pytest
from fake_results import FakeCell, read_cells
from scipy.stats import friedmanchisquare
from table_reading import texts_of

from collateral.findings.summary.numbers import across
from collateral.findings.summary.views import tables_across
from collateral.results.plan import BenchmarkPlan

RUNS = {"ft": "FT", "ga": "GA", "ltd": "LTD", "original": "Original", "ft@lr=1": "FT, lr 1"}
# By cell: the gap of each method, and the noise floor.
GAPS = {
    "digit_3-50": {"ft": 0.10, "ga": 0.02, "ltd": 0.03, "floor": 0.01},
    "digit_8-50": {"ft": 0.10, "ga": 0.30, "ltd": 0.10, "floor": 0.01},
}


def fake(name, gaps, seeds=2, collapsed=()):
    cell = FakeCell(name, *name.split("-"))
    for run in ("retrain", "ft", "ga", "ltd", "original", "ft@lr=1"):
        status = "collapsed" if run in collapsed else "ok"
        cell.add(run, "ua", *(0.5 for _ in range(seeds)), status=status)
        for gap in ("avg_gap", "avg_gap_affected"):
            if run == "retrain":
                cell.add_overall(run, "floor", gaps["floor"] if seeds > 1 else math.nan, at=gap)
            else:
                # A control and a sweep would win, were they ranked.
                cell.add_overall(run, gap, gaps.get(run, 0.001))
    return cell


@pytest.fixture
def summarised(tmp_path):
    """Return a function: fake cells in, the benchmark with its numbers over cells out."""

    def build(*fakes):
        table = read_cells(tmp_path, *fakes, plan=BenchmarkPlan(RUNS))
        rows = {(row.run, row.metric, row.set, str(row.at)): row.value for row in across(table)}
        return replace(table, _over_cells=rows)

    return build


@pytest.fixture
def both(summarised):
    return summarised(*(fake(name, gaps) for name, gaps in GAPS.items()))


def numbers(table, metric, gap="avg_gap"):
    found = {run: table.number(run, metric, at=gap) for run in RUNS}
    return {run: value for run, value in found.items() if not math.isnan(value)}


# Numbers.


def test_wins_ranks_and_gaps_are_those_worked_by_hand(both):
    # First cell: GA 1, LTD 2, FT 3. Second: FT and LTD share the ranks 1 and 2, GA 3.
    assert numbers(both, "mean_rank") == {"ft": 2.25, "ga": 2.0, "ltd": 1.75}
    assert numbers(both, "lowest_cells") == {"ft": 1, "ga": 1, "ltd": 1}
    assert numbers(both, "mean_gap") == pytest.approx({"ft": 0.1, "ga": 0.16, "ltd": 0.065})
    assert numbers(both, "ranked_cells") == {"ft": 2, "ga": 2, "ltd": 2}


def test_what_is_within_the_noise_floor_of_the_lowest_is_a_tie(both):
    # LTD is 0.01 above GA in the first cell: exactly the floor, which is inside.
    assert numbers(both, "tied_cells") == {"ft": 1, "ga": 1, "ltd": 2}


def test_a_run_that_collapsed_is_not_ranked_in_that_cell(summarised):
    table = summarised(
        fake("digit_3-50", GAPS["digit_3-50"], collapsed=("ga",)),
        fake("digit_8-50", GAPS["digit_8-50"]),
    )
    assert numbers(table, "ranked_cells")["ga"] == 1
    assert numbers(table, "lowest_cells") == {"ft": 1, "ga": 0, "ltd": 2}
    assert numbers(table, "mean_rank")["ltd"] == 1.25
    [made] = tables_across(table)
    assert texts_of(made.grids[0])["GA"] == ["1 of 2", "0", "0", "30.0"]
    # Of the first cell LTD is first, but GA was not there to be beaten.
    assert numbers(table, "complete_rank") == {"ft": 1.5, "ga": 3.0, "ltd": 1.5}


def test_ranks_are_shown_where_they_can_differ_and_none_twice(summarised):
    second = GAPS["digit_8-50"]
    four = [fake(f"digit_{place}-50", second) for place in range(4)]
    [made] = tables_across(summarised(*four[:3]))  # critical difference 1.9 of at most 2
    assert texts_of(made.grids[0])["GA"] == ["3 of 3", "0", "0", "3.0", "30.0"]
    assert "Mean rank" in made.grids[0].headings
    assert "By Avg. Gap, ranks over complete cells less than 1.9 apart" in made.caption
    collapsed = fake("digit_9-50", GAPS["digit_3-50"], collapsed=("ga",))
    [made] = tables_across(summarised(*four[:3], collapsed))
    assert texts_of(made.grids[0])["LTD"][-3:-1] == ["1.4", "1.5"]


def test_an_undefined_gap_is_not_ranked(summarised):
    [first, second] = (fake(name, gaps) for name, gaps in GAPS.items())
    for row in first.metrics:
        if row["metric"] == "avg_gap_affected" and row["run"] == "ft":
            row["value"] = ""
    table = summarised(first, second)
    assert numbers(table, "ranked_cells", "avg_gap_affected")["ft"] == 1
    assert numbers(table, "mean_rank", "avg_gap_affected")["ga"] == 2.0


def test_ranks_are_tested_over_the_cells_where_all_are_ranked(both):
    # Ranks 3, 1, 2 and 1.5, 3, 1.5.
    assert both.number("retrain", "complete_cells", at="avg_gap") == 2
    expected = friedmanchisquare([0.1, 0.1], [0.02, 0.3], [0.03, 0.1]).pvalue
    assert both.number("retrain", "friedman_p", at="avg_gap") == pytest.approx(expected)
    # q of three methods is 2.343: times the root of 3 * 4 / (6 * 2).
    assert both.number("retrain", "critical_difference", at="avg_gap") == pytest.approx(
        2.343, abs=0.002
    )
    [made] = tables_across(both)
    assert "No ranks by Avg. Gap: even opposite ranks of 3 methods in 2 cells" in made.caption
    assert made.records[0]["critical_difference"] == pytest.approx(2.343, abs=0.002)


def test_a_cell_where_one_is_not_ranked_does_not_count(summarised):
    first, second = (fake(n, gaps, collapsed=("ga",)) for n, gaps in GAPS.items())
    table = summarised(first, second)
    assert table.number("retrain", "complete_cells", at="avg_gap") == 0
    [made] = tables_across(table)
    assert "Nemenyi" not in made.caption


# The table.


def test_a_run_ranked_nowhere_is_a_row_of_dashes(summarised):
    table = summarised(*(fake(n, gaps, collapsed=("ga",)) for n, gaps in GAPS.items()))
    [made] = tables_across(table)
    assert texts_of(made.grids[0])["GA"] == ["0 of 2", "–", "–", "–"]


def test_with_one_seed_ties_cannot_be_told(summarised):
    [made] = tables_across(summarised(*(fake(n, gaps, seeds=1) for n, gaps in GAPS.items())))
    assert texts_of(made.grids[0])["LTD"] == ["2 of 2", "1", "–", "6.5"]
    assert "With one seed there is no noise floor" in made.caption


def test_both_gaps_stand_below_each_other_in_the_order_of_the_config(both):
    [made] = tables_across(both)
    assert [grid.corner for grid in made.grids] == ["By Avg. Gap", "By Avg. Gap affected"]
    for grid in made.grids:
        assert grid.headings == ["Ranked in", "Lowest in", "Within noise in", "Mean gap"]
        assert list(texts_of(grid)) == ["FT", "GA", "LTD"]
    assert texts_of(made.grids[0])["FT"] == ["2 of 2", "1", "1", "10.0"]
    assert made.caption.startswith("Methods over the 2 cells")
    assert [(record["gap"], record["run"]) for record in made.records[2:4]] == [
        ("avg_gap", "ltd"),
        ("avg_gap_affected", "ft"),
    ]
    assert made.records[0]["mean_rank"] == 2.25


def test_a_benchmark_of_one_cell_has_no_summary(summarised):
    assert list(tables_across(summarised(fake("digit_3-50", GAPS["digit_3-50"])))) == []

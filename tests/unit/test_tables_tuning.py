"""The tuning table: what was chosen, and what another choice would have given."""

import math
from dataclasses import replace

import pytest
from fake_results import FakeCell, read_cells
from table_reading import texts_of

from collateral.contract.conventions import RULES
from collateral.findings.tuning.views import tables, tables_across
from collateral.results.plan import BenchmarkPlan, CellPlan

TRIALS = {"ft": [{"lr": 0.01}, {"lr": 0.1}], "ga": [{"alpha": 1, "beta": "x"}]}
PLAN = BenchmarkPlan(
    {"ga": "GA", "ft": "FT", "rl": "RL"},
    "matched",
    {name: CellPlan(trials=TRIALS) for name in ("digit_3-50", "digit_8-50")},
)


def tuned(name: str) -> FakeCell:
    """Return a cell tuned on its first seed."""
    cell = FakeCell(name)
    for run in ("retrain", "rl", "ft", "ga"):
        cell.add(run, "ua", 0.5, 0.5)
    numbers = {
        "ft": (0.0512, math.nan, 0.0201, 0.0311, 1, 0),
        "ga": (0.0512, 0.06, 0.0512, 0.0, 0, 0),
    }
    names = ("gap_chosen", "gap_default", "gap_nearest", "regret", "trial_chosen", "trial_nearest")
    for run, values in numbers.items():
        for metric, value in zip(names, values, strict=True):
            cell.add(run, metric, value)
    return cell


@pytest.fixture
def benchmark(tmp_path):
    return read_cells(tmp_path, tuned("digit_3-50"), tuned("digit_8-50"), plan=PLAN)


def test_a_cell_has_a_row_a_tuned_method_in_points(benchmark):
    [table] = tables(benchmark.cells[0])
    [grid] = table.grids
    assert grid.headings == [
        *("Chosen", "Gap", "Gap of the defaults", "Nearest", "Its gap", "Regret")
    ]
    assert texts_of(grid) == {
        "GA": ["alpha 1, beta x", "5.1", "6.0", "alpha 1, beta x", "5.1", "0.0"],
        "FT": ["lr 0.1", "5.1", "–", "lr 0.01", "2.0", "3.1"],
    }
    assert grid.are_words == [True, False, False, True, False, False]


def test_all_cells_stand_in_one_table(benchmark):
    [table] = tables_across(benchmark)
    lines = [(line.label, line.fields[0].value) for line in table.grids[0].groups[0]]
    assert lines == [(cell, run) for cell in ("digit_3-50", "digit_8-50") for run in ("GA", "FT")]
    assert table.records[1] == {
        "cell": "digit_3-50",
        "run": "ft",
        "chosen": "lr 0.1",
        "nearest": "lr 0.01",
        "gap_chosen": 0.0512,
        "gap_default": pytest.approx(math.nan, nan_ok=True),
        "gap_nearest": 0.0201,
        "regret": 0.0311,
    }


def test_without_tuning_there_is_no_table(tmp_path):
    cell = FakeCell()
    cell.add("retrain", "ua", 0.5)
    table = read_cells(tmp_path, cell)
    assert [*tables(table.cells[0]), *tables_across(table)] == []


# Rules


def ruled(name: str, **regrets: tuple[float, float, float]) -> FakeCell:
    """Return a cell with the regrets of the rules, by method."""
    cell = tuned(name)
    for run, values in regrets.items():
        for rule, value in zip(RULES, values, strict=True):
            cell.add(run, "rule_regret", value, at=rule)
    return cell


@pytest.fixture
def by_rule(tmp_path):
    cells = [
        ruled("digit_3-50", ft=(0.03, 0.02, math.nan), ga=(0.01, 0.01, 0.0)),
        ruled("digit_8-50", ft=(0.05, 0.02, 0.01), ga=(0.03, 0.03, 0.03)),
    ]
    return read_cells(tmp_path, *cells, plan=replace(PLAN, select="interval"))


def test_a_cell_says_what_each_rule_would_have_lost(by_rule):
    tuning, rules = tables(by_rule.cells[0])
    assert rules.grids[0].headings == ["paper", "interval", "teacher"]
    assert texts_of(rules.grids[0]) == {"GA": ["1.0", "1.0", "0.0"], "FT": ["3.0", "2.0", "–"]}
    assert "This benchmark uses `interval`" in rules.caption
    assert "Clopper-Pearson" in tuning.caption


def test_rules_are_compared_over_cells_and_methods_with_an_interval(by_rule):
    _, rules = tables_across(by_rule)
    # Student's t of 3 and 2 degrees of freedom: 3.182 and 4.303 standard errors.
    assert texts_of(rules.grids[0]) == {
        "paper": ["4", "3.0 ± 2.6", "0.0 ± 0.0"],
        "interval": ["4", "2.0 ± 1.3", "−1.0 ± 2.3"],
        "teacher": ["3", "1.3 ± 3.8", "−1.7 ± 5.2"],
    }
    assert len(rules.records) == 2 * 2 * 3

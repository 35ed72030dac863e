"""The table of classes where a whole one is deleted."""

import pytest
from fake_results import RUNS, full_cell, read_cell, whole_class_cell
from table_reading import texts_of

from collateral.findings.classes.reading import short_names
from collateral.findings.classes.views import tables
from collateral.results.plan import BenchmarkPlan


@pytest.fixture
def table_of(tmp_path):
    """Return a function: a fake cell in, its table out."""

    def build(fake, runs=RUNS):
        [table] = tables(read_cell(tmp_path, fake, BenchmarkPlan(runs)))
        return table

    return build


def test_classes_stand_by_similarity_with_drop_and_interval(table_of):
    [grid] = table_of(whole_class_cell(runs=("ga", "original"))).grids
    assert (grid.corner, grid.headings) == ("Class", ["Similarity", "GA", "Original", "Chance"])
    rows = texts_of(grid)
    assert list(rows) == [*"876543210", "Slope"]
    # Drops of three seeds lie one point apart; t of two degrees of freedom is 4.303.
    assert rows["8"] == ["0.800", "+8.0 ± 2.5", "+8.0 ± 2.5", "±8.6"]


def test_the_last_row_is_the_slope_with_its_interval(table_of):
    [grid] = table_of(whole_class_cell(runs=("ga",))).grids
    assert texts_of(grid)["Slope"] == ["", "1.00 [0.50, 1.50]", ""]


def test_one_seed_has_neither_interval_nor_chance(table_of):
    rows = texts_of(table_of(whole_class_cell(num_seeds=1, runs=("ga",))).grids[0])
    assert rows["8"] == ["0.800", "+8.0", "–"]
    assert rows["Slope"] == ["", "1.00", ""]


def test_a_drop_that_is_undefined_is_a_dash(table_of):
    fake = whole_class_cell(runs=("ga",))
    for row in fake.metrics:
        if (row["metric"], row["at"]) == ("class_drop", "digit_8"):
            row["value"] = ""
    table = table_of(fake)
    assert texts_of(table.grids[0])["8"][1] == "–"
    assert "digit_8" not in [record["class"] for record in table.records]


def test_sweeps_have_columns_too(table_of):
    runs = {"ga": "GA", "ga@steps=40": "GA, steps 40"}
    table = table_of(whole_class_cell(runs=tuple(runs)), runs)
    assert table.grids[0].headings[1:3] == ["GA", "GA, steps 40"]


def test_records_are_unrounded(table_of):
    records = [r for r in table_of(whole_class_cell(runs=("ga",))).records if r["run"] == "ga"]
    assert [record["class"] for record in records] == [f"digit_{c}" for c in range(9)]
    assert records[3]["drop"] == pytest.approx(3, abs=1e-12)
    assert records[3]["half_width"] == pytest.approx(4.302653 / 3**0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("names", "shown"),
    [(["digit_3", "digit_8"], ["3", "8"]), (["oak_tree", "apple"], ["oak_tree", "apple"])],
)
def test_names_leave_away_only_what_all_share(names, shown):
    assert short_names(names) == shown


def test_a_class_that_is_gone_in_part_has_no_table(tmp_path):
    assert list(tables(read_cell(tmp_path, full_cell()))) == []

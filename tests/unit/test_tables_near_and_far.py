"""The table of near and far: GA loses 40 points near the forget set, and nothing far from it."""

import pytest
from fake_results import full_cell, read_cell
from table_reading import lines_of, texts_of

from collateral.findings.locality.views import tables


@pytest.fixture
def table_of(tmp_path):
    def build(fake):
        [table] = tables(read_cell(tmp_path, fake))
        return table

    return build


def test_losses_are_in_points_with_their_sign(table_of):
    table = table_of(full_cell())
    [grid] = table.grids
    assert (table.name, grid.headings) == (
        "near-and-far",
        ["Near, retained (30)", "Far, retained (240)", "Near, test (30)", "Far, test (240)"],
    )
    # Three seeds, a tenth of a point apart.
    assert texts_of(grid)["GA"] == ["+40.1 ± 0.1", "+0.1 ± 0.1"] * 2
    assert lines_of(grid)["GA"].fields[0].order == pytest.approx(0.401)


def test_chance_is_the_range_of_95_percent_of_retrainings(table_of):
    # t of two degrees of freedom is 4.303; the standard deviations are 2 points and 1.
    [grid] = table_of(full_cell()).grids
    last = list(lines_of(grid).values())[-1]
    assert (last.label, last.is_aside) == ("Retrain vs. Retrain (95 %)", True)
    assert [field.value for field in last.fields] == ["±8.6", "±4.3"] * 2
    assert [field.is_chance for field in lines_of(grid)["GA"].fields] == [False, True] * 2
    assert all(field.is_chance for field in lines_of(grid)["FT"].fields)


def test_methods_come_before_controls(table_of):
    [grid] = table_of(full_cell()).grids
    labels = [[line.label for line in group] for group in grid.groups]
    assert labels == [["FT", "GA", "RL"], ["Original", "Retrain vs. Retrain (95 %)"]]


def test_one_seed_has_neither_spread_nor_chance(table_of):
    table = table_of(full_cell(num_seeds=1, runs=("ga",)))
    assert texts_of(table.grids[0]) == {"GA": ["+40.0", "0.0"] * 2}
    assert not any(field.is_chance for field in lines_of(table.grids[0])["GA"].fields)
    assert "One seed" in table.caption
    assert "†" not in table.conventions


def test_a_run_diverged_says_so(table_of):
    [grid] = table_of(full_cell(diverged=("ga",))).grids
    assert lines_of(grid)["GA"].note == "diverged (2 of 3 seeds)"
    assert texts_of(grid)["GA"] == ["+40.0", "0.0"] * 2


def test_records_hold_the_range_of_chance(table_of):
    record = table_of(full_cell()).records[0]
    assert (record["run"], record["metric"], record["set"]) == ("ft", "near_loss", "retain")
    assert record["mean"] == pytest.approx(0.001)
    assert record["chance"] == pytest.approx(4.302653 * 0.02)

"""Columns and rows of the tables of near and far, of classes, and of support sizes."""

import pytest
from fake_results import RUNS, full_cell, read_cell, supports_cell, whole_class_cell
from table_reading import lines_of, texts_of

from collateral.findings.classes.views import shorten_names
from collateral.findings.classes.views import tables as class_tables
from collateral.findings.locality.views import tables as near_tables
from collateral.findings.support_size.views import tables as support_tables
from collateral.results.plan import BenchmarkPlan


@pytest.fixture
def tables_of(tmp_path):
    """Return a function: the tables of a fake cell, by name."""

    def build(tables, fake, runs=RUNS):
        return {t.name: t for t in tables(read_cell(tmp_path, fake, BenchmarkPlan(runs)))}

    return build


# Near and far: GA loses 40 points near the forget set, and nothing far from it.


@pytest.fixture
def near_table(tables_of):
    return lambda fake: tables_of(near_tables, fake)["near-and-far"]


def test_losses_are_in_points_with_their_sign(near_table):
    [grid] = near_table(full_cell()).grids
    assert grid.headings == [
        *("Near, retained (30, 11 %)", "Far, retained (240, 89 %)"),
        *("Near, test (30, 11 %)", "Far, test (240, 89 %)"),
    ]
    # Three seeds, a tenth of a point apart.
    assert texts_of(grid)["GA"] == ["+40.1 ± 0.1", "+0.1 ± 0.1"] * 2
    assert lines_of(grid)["GA"].fields[0].order == pytest.approx(0.401)


def test_chance_is_the_range_of_95_percent_of_retrainings(near_table):
    # t of two degrees of freedom is 4.303; the standard deviations are 2 points and 1.
    [grid] = near_table(full_cell()).grids
    labels = [[line.label for line in group] for group in grid.groups]
    assert labels == [["FT", "GA", "RL"], ["Original", "Retrain vs. Retrain (95 %)"]]
    last = grid.groups[-1][-1]
    assert last.is_aside
    assert [field.value for field in last.fields] == ["±8.6", "±4.3"] * 2
    assert [field.is_chance for field in lines_of(grid)["GA"].fields] == [False, True] * 2
    assert all(field.is_chance for field in lines_of(grid)["FT"].fields)


def test_losses_of_one_seed_have_neither_spread_nor_chance(near_table):
    table = near_table(full_cell(num_seeds=1, runs=("ga",)))
    assert texts_of(table.grids[0]) == {"GA": ["+40.0", "0.0"] * 2}
    assert not any(field.is_chance for field in lines_of(table.grids[0])["GA"].fields)
    assert "One seed" in table.caption
    assert "†" not in table.conventions


def test_records_of_losses_hold_the_range_of_chance(near_table):
    record = near_table(full_cell()).records[0]
    assert (record["run"], record["metric"], record["set"]) == ("ft", "near_loss", "retain")
    assert record["mean"] == pytest.approx(0.001)
    assert record["chance"] == pytest.approx(4.302653 * 0.02)


# The other classes, where a whole one is deleted.


@pytest.fixture
def class_table(tables_of):
    return lambda fake, runs=RUNS: tables_of(class_tables, fake, runs)["classes"]


def test_classes_are_sorted_by_similarity_and_the_last_row_has_the_slopes(class_table):
    [grid] = class_table(whole_class_cell(runs=("ga", "original"))).grids
    assert (grid.corner, grid.headings) == ("Class", ["Similarity", "GA", "Original", "Chance"])
    rows = texts_of(grid)
    assert list(rows) == [*"876543210", "Slope"]
    # Drops of three seeds lie one point apart; t of two degrees of freedom is 4.303.
    assert rows["8"] == ["0.800", "+8.0 ± 2.5", "+8.0 ± 2.5", "±8.6"]
    assert rows["Slope"] == ["", *["1.00 [0.50, 1.50]"] * 2, ""]


def test_classes_of_one_seed_have_neither_interval_nor_chance(class_table):
    rows = texts_of(class_table(whole_class_cell(num_seeds=1, runs=("ga",))).grids[0])
    assert rows["8"] == ["0.800", "+8.0", "–"]
    assert rows["Slope"] == ["", "1.00", ""]


def test_a_drop_that_is_undefined_is_a_dash_and_no_record(class_table):
    fake = whole_class_cell(runs=("ga",))
    for row in fake.metrics:
        if (row["metric"], row["at"]) == ("class_drop", "digit_8"):
            row["value"] = ""
    table = class_table(fake)
    assert texts_of(table.grids[0])["8"][1] == "–"
    assert "digit_8" not in [record["class"] for record in table.records]


def test_runs_of_sweeps_have_columns_of_classes_too(class_table):
    runs = {"ga": "GA", "ga@steps=40": "GA, steps 40"}
    table = class_table(whole_class_cell(runs=tuple(runs)), runs)
    assert table.grids[0].headings[1:3] == ["GA", "GA, steps 40"]


def test_records_of_classes_are_unrounded(class_table):
    records = [r for r in class_table(whole_class_cell(runs=("ga",))).records if r["run"] == "ga"]
    assert [record["class"] for record in records] == [f"digit_{c}" for c in range(9)]
    assert records[3]["drop"] == pytest.approx(3, abs=1e-12)
    assert records[3]["half_width"] == pytest.approx(4.302653 / 3**0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("names", "short"),
    [(["digit_3", "digit_8"], ["3", "8"]), (["oak_tree", "apple"], ["oak_tree", "apple"])],
)
def test_names_leave_away_only_what_all_share(names, short):
    assert shorten_names(names) == short


# Support sizes: without Retrain, and apart from it with Retrain.


@pytest.fixture
def supports(tables_of):
    return lambda num_seeds=3: tables_of(support_tables, supports_cell(num_seeds=num_seeds))


def test_there_is_one_row_per_support_size(supports):
    table = supports()["support-sizes"]
    [grid] = table.grids
    assert grid.headings[4:] == [
        *("Teacher on D_f (%)", "Mass kept (%)"),
        *("KL to the smaller support (nats)", "KL between seeds (nats)"),
    ]
    rows = texts_of(grid)
    assert list(rows) == ["20", "50", "80"]
    assert rows["20"][6] == "–"
    assert rows["50"] == [
        *("0.75 ± 0.00", "2.0 ± 0.0", "20.0 ± 0.0", "99.1 ± 0.1"),
        *("80.1 ± 0.1", "90.1 ± 0.1", "0.501 ± 0.001", "0.050"),
    ]
    assert table.caption.startswith("FT's teachers by the size k of their support, without Retrain")
    records = {(r["metric"], r["at"]): r for r in table.records}
    assert records["support_teacher_ua", 50]["mean"] == pytest.approx(0.801)
    assert records["support_kl_seeds", 50]["mean"] == 0.05


def test_the_step_of_auto_has_one_row_per_seed(supports):
    table = supports()["support-auto"]
    rows = texts_of(table.grids[0])
    assert list(rows) == ["0", "1", "2"]
    assert rows["0"] == ["0.25", "40.0", "40.0", "30", "2", "0.80", "60"]
    assert table.records[0] == {
        **{"seed": 0, "rate": 0.25, "top_drop": 0.4, "largest_drop": 0.4},
        **{"largest_drop_count": 30.0, "num_bins": 2, "least_similarity": 0.8, "k": 60},
    }


def test_teachers_are_compared_with_retrain_in_a_table_of_their_own(supports):
    table = supports()["support-retrain"]
    assert "after the fact" in table.caption
    rows = texts_of(table.grids[0])
    # Retrain's UA is a little above 90 %.
    assert rows["20"][1].startswith("+9.")
    assert rows["80"][0] == "0.201 ± 0.001"
    assert rows["80"][1].startswith("−20.")
    assert rows["two Retrains"] == ["0.010", ""]
    assert lines_of(table.grids[0])["two Retrains"].is_aside


def test_one_seed_has_no_divergence_between_seeds(supports):
    found = supports(num_seeds=1)
    assert texts_of(found["support-sizes"].grids[0])["50"][-1] == "–"
    assert list(texts_of(found["support-retrain"].grids[0])) == ["20", "50", "80"]
    assert "One seed" in found["support-sizes"].caption


@pytest.mark.parametrize("tables", [class_tables, support_tables])
def test_a_part_of_a_class_has_neither_table(tables_of, tables):
    assert tables_of(tables, full_cell()) == {}

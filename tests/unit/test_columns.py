"""Tables from columns: fields, intervals, marks, rows, grids and records, worked out by hand."""

import math
from dataclasses import replace

import pytest
from fake_results import FakeCell, read_cell
from table_reading import texts_of

from collateral.contract.tables import Field, Line, Source
from collateral.findings.columns import (
    NEXT_SEED,
    Column,
    TableRow,
    all_rows,
    build_grid,
    build_records,
    build_table,
    plain_table,
    rows_by_kind,
    rows_with_next_seed,
    run_row,
)
from collateral.results.plan import BenchmarkPlan

LABELS = {"original": "Original", "ga": "GA", "ft": "FT"}  # the control comes first in the config


def fake(num_seeds: int = 2) -> FakeCell:
    """Return a cell in which GA diverged in its last seed, and FT has no interval."""
    cell = FakeCell()
    for run, center in (("retrain", 0.5), ("original", 0.9), ("ft", 0.7)):
        cell.add(run, "ua", *(center - 0.1, center + 0.1)[:num_seeds])
    cell.add("ga", "ua", *(0.25, None)[:num_seeds])
    for run, center in (("ft", 0.6), ("ga", 0.7)):
        cell.add(run, "rmia_auc", *(center,) * num_seeds)
        cell.add(run, "near_loss", *(0.031, 0.011)[:num_seeds], set="retain", at="bin")
    for end, value in (("low", 0.65), ("high", 0.75), ("examples_low", 0.6)):
        cell.add_overall("ga", f"rmia_auc_{end}", value)
    for end, value in (("", 0.1), ("_low", -0.05), ("_high", 0.25)):
        cell.add_overall("ga", f"exposure_change{end}", value, "retain", "near")
    cell.add_overall("ft", "klom", 0.5, "test", "near")
    cell.add_overall("retrain", "klom_retrain", 0.25, "test", "near")
    return cell


@pytest.fixture
def cell(tmp_path):
    return read_cell(tmp_path, fake(), BenchmarkPlan(LABELS))


def field(cell, run: str, column: Column) -> Field:
    return column.field(run_row(cell, run))


# Fields


def test_a_field_is_the_mean_and_the_spread_over_seeds_with_its_source(cell):
    shown = field(cell, "ft", Column("ua"))
    assert (shown.value, shown.order) == ("70.0 ± 14.1", pytest.approx(0.7))
    assert (shown.source, shown.also) == (Source("ft", "ua"), ())
    assert not shown.is_chance


def test_one_defined_seed_has_no_spread(cell):
    assert field(cell, "ga", Column("ua")).value == "25.0"


def test_a_number_over_all_seeds_is_shown_where_seeds_have_none(cell):
    shown = field(cell, "ft", Column("klom", "test", "near"))
    assert (shown.value, shown.order) == ("0.50", 0.5)
    assert shown.source == Source("ft", "klom", "test", "near")


def test_an_undefined_number_is_a_dash_that_is_sorted_last(cell):
    shown = field(cell, "ga", Column("klom", "test", "near"))
    assert shown.value == "–"
    assert math.isnan(shown.order)


def test_a_column_with_sign_shows_plus_signs(cell):
    column = Column("near_loss", "retain", "bin")
    assert field(cell, "ft", column).value == "2.1 ± 1.4"
    assert field(cell, "ft", replace(column, sign=True)).value == "+2.1 ± 1.4"


def test_an_interval_stands_in_place_of_the_spread_and_has_its_sources(cell):
    shown = field(cell, "ga", Column("rmia_auc", ends=""))
    assert shown.value == "0.700 [0.650, 0.750]"
    assert shown.also == (Source("ga", "rmia_auc_low"), Source("ga", "rmia_auc_high"))


def test_an_interval_is_of_the_same_set_and_index(cell):
    shown = field(cell, "ga", Column("exposure_change", "retain", "near", ends="", sign=True))
    assert shown.value == "+0.100 [−0.050, +0.250]"
    assert shown.also[0] == Source("ga", "exposure_change_low", "retain", "near")


@pytest.mark.parametrize(("run", "ends"), [("ft", ""), ("ga", "examples_")])
def test_an_interval_that_lacks_an_end_is_not_shown(cell, run, ends):
    shown = field(cell, run, Column("rmia_auc", ends=ends))
    assert "[" not in shown.value and "±" not in shown.value
    assert shown.also == ()


@pytest.mark.parametrize(
    ("bound", "is_chance"), [(0.021, True), (0.0209, False), (math.nan, False)]
)
def test_a_mean_within_the_bound_is_marked(cell, bound, is_chance):
    calls = []

    def chance(*key):
        calls.append(key)
        return bound

    column = Column("near_loss", "retain", "bin", chance=chance, mean=lambda values: -0.021)
    assert field(cell, "ft", column).is_chance is is_chance
    assert calls == [(cell, "near_loss", "retain", "bin")]


def test_the_reference_is_never_within_chance_of_itself(cell):
    assert not field(cell, "retrain", Column("ua", chance=lambda *key: 1.0)).is_chance


def test_the_reference_may_show_another_metric_or_a_dash(cell):
    column = Column("klom", "test", "near", reference_metric="klom_retrain")
    shown = field(cell, "retrain", column)
    assert (shown.value, shown.source) == (
        "0.25",
        Source("retrain", "klom_retrain", "test", "near"),
    )
    assert field(cell, "ft", column).value == "0.50"
    none = Column("ua", reference_metric="")
    assert field(cell, "retrain", none) == Field("–")
    assert field(cell, "ft", none).value == "70.0 ± 14.1"


def test_mean_and_spread_may_be_others(cell):
    column = Column("ua", mean=lambda values: values.max(), spread=lambda values: math.nan)
    assert field(cell, "ft", column).value == "80.0"


def test_a_column_may_show_one_run_and_a_row_one_index(cell):
    row = TableRow(cell, "retrain", "bin", "bin")
    assert (row.note, row.is_aside) == ("", False)
    column = Column("near_loss", "retain", run="ft")
    assert column.field(row).source == Source("ft", "near_loss", "retain", "bin")
    assert column.field(row).value == "2.1 ± 1.4"
    assert replace(column, at="other").field(row).value == "–"


def test_a_column_may_make_its_fields_itself(cell):
    assert field(cell, "ft", Column(show=lambda row: Field(row.run))) == Field("ft")


# Rows, grids and records


def labels(groups) -> list[list[str]]:
    return [[row.label for row in group] for group in groups]


def test_rows_are_grouped_by_kind_in_the_order_of_the_config(cell):
    assert labels(rows_by_kind(cell)) == [["Retrain"], ["GA", "FT"], ["Original"]]
    assert labels([all_rows(cell)]) == [["Retrain", "Original", "GA", "FT"]]


def test_a_row_shows_the_status_of_its_run_and_whether_it_is_a_control(cell):
    notes = {row.label: (row.note, row.is_aside) for row in all_rows(cell)}
    assert notes == {
        "Retrain": ("", False),
        "Original": ("", True),
        "GA": ("diverged (1 of 2 seeds)", False),
        "FT": ("", False),
    }


def test_the_reference_against_its_next_seed_comes_after_controls(cell):
    groups = rows_with_next_seed(cell)
    assert labels(groups) == [["GA", "FT"], ["Original", NEXT_SEED]]
    assert (groups[1][-1].run, groups[1][-1].is_aside) == ("retrain", True)
    assert labels(rows_with_next_seed(cell, "Again"))[1] == ["Original", "Again"]


def test_with_one_seed_there_is_no_row_of_retrain_with_the_next_seed(tmp_path):
    cell = read_cell(tmp_path, fake(num_seeds=1), BenchmarkPlan(LABELS))
    assert labels(rows_with_next_seed(cell)) == [["GA", "FT"], ["Original"]]


def test_a_grid_has_a_heading_per_column_and_no_empty_groups(cell):
    columns = [Column("ua"), Column("klom", "test", "near", "Near")]
    grid = build_grid("Run", columns, [[], [run_row(cell, "ga"), run_row(cell, "original")]])
    assert (grid.corner, grid.headings) == ("Run", ["UA (%)", "Near"])
    assert texts_of(grid) == {"GA": ["25.0", "–"], "Original": ["90.0 ± 14.1", "–"]}
    [[ga, original]] = grid.groups
    assert (ga.note, ga.is_aside) == ("diverged (1 of 2 seeds)", False)
    assert (original.note, original.is_aside) == ("", True)


def test_a_finished_line_is_not_changed(cell):
    line = Line("Noise", [Field("±1")], is_aside=True)
    assert build_grid("Run", [Column("ua")], [[run_row(cell, "ft"), line]]).groups[0][1] is line


def test_a_record_is_unrounded_and_counts_the_seeds(cell):
    rows = [run_row(cell, run) for run in ("ft", "ga")]
    records = build_records(rows, [Column("ua"), Column("klom", "test", "near")])
    assert [(record["run"], record["metric"]) for record in records] == [
        *(("ft", "ua"), ("ft", "klom"), ("ga", "ua"), ("ga", "klom"))
    ]
    assert records[0] == {
        **{"run": "ft", "label": "FT", "kind": "method"},
        **{"metric": "ua", "set": "", "at": ""},
        **{"mean": pytest.approx(0.7), "std": pytest.approx(0.02**0.5), "n": 2},
    }
    over = {key: records[1][key] for key in ("set", "at", "mean", "n")}
    assert over == {"set": "test", "at": "near", "mean": 0.5, "n": 0}
    assert math.isnan(records[1]["std"])
    assert (records[2]["mean"], records[2]["n"]) == (0.25, 1)


def test_a_table_has_the_records_of_its_rows(cell):
    groups = [[run_row(cell, "ga")], [run_row(cell, "original"), Line("Noise", [Field("±1")])]]
    table = build_table("t", "T", [Column("ua")], groups, "Caption.", "Conventions.")
    assert (table.name, table.title, table.caption) == ("t", "T", "Caption.")
    assert (table.conventions, table.grids[0].corner) == ("Conventions.", "Method")
    assert labels(table.grids[0].groups) == [["GA"], ["Original", "Noise"]]
    assert [record["run"] for record in table.records] == ["ga", "original"]


def test_a_table_of_several_grids_has_the_same_rows_in_each(cell):
    shown = Column(heading="Word", show=lambda row: Field(row.label))
    columns = {"First": [Column("ua"), shown], "Second": [Column("ra")]}
    table = build_table("t", "T", columns, rows_by_kind(cell, ("method",)), "Caption.")
    assert table.conventions == ""  # None are given.
    assert [(grid.corner, len(grid.headings)) for grid in table.grids] == [
        ("First", 2),
        ("Second", 1),
    ]
    assert len({tuple(line.label for line in grid.groups[0]) for grid in table.grids}) == 1
    count = len(cell.runs("method"))
    assert [record["metric"] for record in table.records] == ["ua"] * count + ["ra"] * count


def test_a_plain_table_has_all_runs_and_describes_its_metrics(cell):
    table = plain_table(cell, "mine", "Mine", ["ua", "rmia_auc"])
    [grid] = table.grids
    assert (table.name, table.title, grid.corner) == ("mine", "Mine", "Method")
    assert grid.headings == ["UA (%)", "RMIA AUC"]
    assert labels(grid.groups) == [["Retrain"], ["GA", "FT"], ["Original"]]
    assert table.caption.startswith("Mine: digit_3, 50 % forgotten. Mean ± sample")
    assert "UA: accuracy on the forget set." in table.caption
    runs = [record["run"] for record in table.records]
    assert runs == [run for run in ("retrain", "original", "ga", "ft") for _ in range(2)]

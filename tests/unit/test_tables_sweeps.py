"""Ablations: a table of every sweep, and none of its runs elsewhere."""

from typing import Any

import pytest
from fake_results import RUNS, FakeCell, read_cell
from table_reading import field_at, lines_of, marked

from collateral.contract.tables import Table
from collateral.findings._shared.write import to_latex, to_markdown
from collateral.findings.gap.views import tables as gap_tables
from collateral.findings.sweeps.views import tables
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep
from collateral.results.table import CellTable

ACCURACIES = ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected")


def sweep_of(key: str = "lr", **values: Any) -> Sweep:
    """Return a sweep of `ft`; runs are named by the names of the values."""
    runs = {"ft" if name == "own" else f"ft@{key}={name}": v for name, v in values.items()}
    labels = {run: str(value).removesuffix(".0") for run, value in runs.items()}
    return Sweep(f"by-{key}", "FT", key, "ft", runs, labels)


NUMBERS = sweep_of(own=0.1, **{"1": 1.0, "0.01": 0.01})
WORDS = sweep_of("kind", hard="hard", own="soft")


def fake(**ua: float | None) -> FakeCell:
    """Return a cell with three seeds; a run's UA is given, by seed 1 point more and less."""
    cell = FakeCell()
    for run, value in ua.items():
        for metric in ACCURACIES:
            center = value if metric == "ua" else 0.5
            steps = (-0.01, 0, 0.01)
            cell.add(run, metric, *(None if value is None else center + step for step in steps))
        cell.add(run, "rte", 1.0, 2.0, 3.0)
        for gap in ("avg_gap", "avg_gap_affected"):
            if run != "retrain" and value is not None:
                cell.add_overall(run, gap, abs(value - 0.5) / 4)
    for metric in ACCURACIES:
        cell.add_overall("retrain", "floor", 0.01, at=metric)
    return cell


def numeric() -> FakeCell:
    return fake(retrain=0.5, ft=0.6, ga=0.55, **{"ft@lr=1": 0.9, "ft@lr=0.01": 0.7})


def words() -> FakeCell:
    return fake(retrain=0.5, ft=0.6, ga=0.55, **{"ft@kind=hard": 0.52})


@pytest.fixture
def cell_of(tmp_path):
    """Return a function: a fake cell and its sweeps in, the cell as the stage reads it out."""

    def build(cell: FakeCell, *sweeps: Sweep) -> CellTable:
        labels = RUNS | {run: run for sweep in sweeps for run in sweep.values if "@" in run}
        plan = BenchmarkPlan(labels, "matched", {cell.name: CellPlan(sweeps)})
        return read_cell(tmp_path, cell, plan)

    return build


@pytest.fixture
def table_of(cell_of):
    def build(cell: FakeCell, sweep: Sweep = NUMBERS) -> Table:
        [table] = tables(cell_of(cell, sweep))
        return table

    return build


def test_every_sweep_has_a_table_in_the_order_of_the_config(cell_of):
    cell = cell_of(numeric(), NUMBERS, WORDS)
    assert [(table.name, table.title) for table in tables(cell)] == [
        ("sweep-by-lr", "FT: lr"),
        ("sweep-by-kind", "FT: kind"),
    ]


def test_a_cell_without_sweeps_has_no_table(cell_of):
    assert list(tables(cell_of(numeric()))) == []


def test_rows_are_retrain_the_values_in_order_and_the_floor(table_of):
    table = table_of(numeric())
    groups = [[line.label for line in group] for group in table.grids[0].groups]
    assert groups == [["Retrain"], ["0.1 (own)", "1", "0.01"], ["Retrain, other seeds"]]
    assert list(dict.fromkeys(record["run"] for record in table.records)) == [
        *("retrain", "ft", "ft@lr=1", "ft@lr=0.01", "retrain_other_seeds")
    ]


def test_a_value_that_tuning_chooses_is_a_row(table_of):
    sweep = sweep_of(**{"1": 1.0, "0.01": 0.01, "own": None})
    assert "None (own)" in lines_of(table_of(numeric(), sweep).grids[0])
    assert sweep.numbers == {"ft@lr=1": 1.0, "ft@lr=0.01": 0.01}


def test_columns_are_all_metrics_both_gaps_and_the_cost(table_of):
    first, second = (grid.headings for grid in table_of(numeric()).grids)
    assert first == ["UA (%)", "RA (%)", "TA (%)", "MIA (%)", "Avg. Gap", "RTE (s)"]
    assert second == ["RA affected (%)", "TA affected (%)", "Avg. Gap affected"]
    assert field_at(table_of(numeric()), "1", "UA (%)").deviation == "(+40.0)"
    assert field_at(table_of(numeric()), "1", "RTE (s)").value == "2.0 ± 1.0"


def test_the_teachers_ua_is_compared_with_retrains_ua(table_of):
    cell = numeric()
    for run, value in (("ft", 0.5), ("ft@lr=1", 0.8)):
        cell.add(run, "teacher_ua", value, value, value)
        cell.add(run, "teacher_epochs", 4, 5, 6)
    table = table_of(cell)
    assert table.grids[1].headings[-2:] == ["Teacher UA (%)", "Teacher's epochs"]
    far, own = (field_at(table, row, "Teacher UA (%)") for row in ("1", "0.1 (own)"))
    assert (far.value, far.deviation, far.is_chance) == ("80.0 ± 0.0", "(+30.0)", False)
    assert own.is_chance and own.is_best
    assert field_at(table, "Retrain", "Teacher UA (%)").value == "50.0 ± 1.0"
    assert field_at(table, "0.1 (own)", "Teacher's epochs").value == "5.0 ± 1.0"
    assert field_at(table, "Retrain", "Teacher's epochs").value == "–"
    assert field_at(table, "Retrain, other seeds", "Teacher UA (%)").deviation == "(1.0)"
    # Not reported for this value.
    assert field_at(table, "0.01", "Teacher UA (%)").value == "–"


def test_bold_is_the_value_nearest_to_retrain_within_the_sweep(table_of):
    table = table_of(words(), WORDS)
    assert marked(table, "best", "ua") == ["ft@kind=hard"]
    assert "Bold: the value nearest to Retrain" in table.conventions


def test_no_run_of_a_sweep_is_in_the_other_tables(cell_of):
    main, affected = gap_tables(cell_of(words(), WORDS))
    for table in (main, affected):
        assert list(lines_of(table.grids[0])) == ["Retrain", "FT", "GA", "Retrain, other seeds"]
    # FT is further from Retrain than its variant, GA is the nearest method.
    assert marked(main, "best", "ua") == ["ga"]


@pytest.mark.parametrize("write", [to_markdown, lambda table: to_latex(table, "t")])
def test_the_parts_of_a_table_are_below_each_other_with_one_caption(table_of, write):
    text = write(table_of(words(), WORDS))
    assert text.count("FT: kind") == 2
    assert text.count("FT with other values of kind") == 1
    assert text.index("MIA") < text.index("RA affected")
    assert max(line.count("&") for line in text.splitlines()) <= 6


def test_a_value_whose_seeds_all_diverged_is_a_row_that_says_so(table_of):
    table = table_of(fake(retrain=0.5, ft=0.6, **{"ft@kind=hard": None}), WORDS)
    assert lines_of(table.grids[0])["hard"].note == "diverged (3 of 3 seeds)"
    assert field_at(table, "hard", "UA (%)").value == "–"
    assert "A diverged seed gives no number" in table.caption


# The teacher's luck


def taught(student=(0.3, 0.5, 0.6), teacher=(0.2, 0.5, 0.8)) -> FakeCell:
    """Return three teachers of two seeds; in the second all UA are 0.1 higher."""
    cell = FakeCell()
    for metric in ACCURACIES:
        cell.add("retrain", metric, 0.5, 0.6)
        cell.add_overall("retrain", "floor", 0.01, at=metric)
    for run, ua, said in zip(SEEDS.values, student, teacher, strict=True):
        for metric in ACCURACIES:
            cell.add(run, metric, ua, None if ua is None else ua + 0.1)
        cell.add(run, "teacher_ua", said, said + 0.1)
        cell.add(run, "teacher_epochs", 4, 6)
    return cell


SEEDS = sweep_of("teacher_seed", own=None, **{"1": 1, "2": 2})


def test_the_spread_of_teachers_and_students_stands_side_by_side(cell_of):
    *_, table = tables(cell_of(taught(), SEEDS))
    assert (table.name, [line.label for line in table.grids[0].groups[0]]) == (
        "teacher-noise",
        ["FT"],
    )
    [record] = table.records
    assert record["teachers"] == 3
    assert record["teacher_ua"] == pytest.approx(0.55)
    assert record["teacher_ua_by_teacher"] == pytest.approx(0.3)
    assert record["ua_by_teacher"] == pytest.approx((0.07 / 3) ** 0.5)
    assert record["ua_by_seed"] == pytest.approx(0.1 / 2**0.5)
    assert record["r"] == pytest.approx(0.09 / (0.18 * 0.14 / 3) ** 0.5)
    texts = [field.value for field in table.grids[0].groups[0][0].fields]
    assert texts == ["3", "55.0", "30.0", "51.7", "15.3", "7.1", "0.98", "5.0"]


def test_a_teacher_whose_student_diverged_does_not_count(cell_of):
    *_, table = tables(cell_of(taught(student=(0.3, None, 0.6)), SEEDS))
    assert table.records[0]["teachers"] == 2
    assert len(list(tables(cell_of(taught(student=(0.3, None, None)), SEEDS)))) == 1


def test_students_that_do_not_differ_agree_with_nothing(cell_of):
    *_, table = tables(cell_of(taught(student=(0.25, 0.25, 0.25)), SEEDS))
    assert table.grids[0].groups[0][0].fields[-2].value == "–"


def test_a_sweep_of_anything_else_tells_nothing_of_the_teachers_luck(cell_of):
    assert len(list(tables(cell_of(numeric(), NUMBERS)))) == 1

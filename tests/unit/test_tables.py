"""Every run against Retrain: the main and the affected-class table."""

import math
from dataclasses import replace

import pytest
from fake_results import RUNS, FakeCell, full_cell, read_cell
from table_reading import field_at, lines_of, marked

from collateral.contract.tables import Source, Table
from collateral.findings._shared.compare import compare, name_extremes
from collateral.findings.gap.views import tables
from collateral.results.plan import BenchmarkPlan

MAIN = ("ua", "ra", "ta", "mia")
HEADINGS = ["UA (%)", "RA (%)", "TA (%)", "MIA (%)"]


@pytest.fixture
def tables_of(tmp_path):
    """Return a function: a fake cell in, its two tables out, through the CSV files."""

    def build(cell: FakeCell, runs=RUNS, sharing=None) -> list[Table]:
        return list(tables(read_cell(tmp_path, cell, BenchmarkPlan(runs, sharing))))

    return build


def by_hand(**ua: tuple[float | None, ...]) -> FakeCell:
    """Return a cell with the given UA of each run, and 0.5 in all other metrics."""
    cell = FakeCell()
    for run, values in ua.items():
        cell.add(run, "ua", *values)
        for metric in MAIN[1:]:
            cell.add(run, metric, *(None if v is None else 0.5 for v in values))
        if run != "retrain":
            gap = abs(sum(v or 0 for v in values) / len(values) - 0.5) / 4
            cell.add_overall(run, "avg_gap", gap)
    return cell


def test_a_field_is_mean_std_and_deviation_in_percent(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.4, 0.5, 0.6), ft=(0.7, 0.8, 0.9)))
    assert field_at(main, "Retrain", "UA (%)").value == "50.0 ± 10.0"
    field = field_at(main, "FT", "UA (%)")
    assert (field.value, field.deviation) == ("80.0 ± 10.0", "(+30.0)")


def test_columns_are_sorted_by_distance_from_retrain(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.2, 0.2)))
    assert field_at(main, "FT", "UA (%)").order == pytest.approx(0.3)
    assert field_at(main, "FT", "Avg. Gap").order == pytest.approx(0.075)
    assert field_at(main, "Retrain", "UA (%)").order == 0.5
    assert math.isnan(field_at(main, "Retrain, other seeds", "UA (%)").order)


def test_the_nearest_method_is_best_in_its_column(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.7, 0.7), ga=(0.4, 0.4)))
    assert marked(main, "best", "ua") == ["ga"]
    assert marked(main, "best", "avg_gap") == ["ga"]
    assert field_at(main, "GA", "UA (%)").is_best
    assert field_at(main, "GA", "Avg. Gap").is_best
    assert not field_at(main, "FT", "UA (%)").is_best


def test_ties_are_all_marked(tables_of):
    # 0.5 - 0.3 and 0.7 - 0.5 are equal but for the last bit.
    main, _ = tables_of(by_hand(retrain=(0.5,), ft=(0.7,), ga=(0.3,), rl=(0.9,)))
    assert marked(main, "best", "ua") == ["ft", "ga"]


def test_a_difference_in_the_sixth_decimal_is_no_tie(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,), ft=(0.700001,), ga=(0.7,)))
    assert marked(main, "best", "ua") == ["ga"]


def test_controls_and_retrain_are_never_marked(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9), original=(0.5, 0.5)))
    assert {run for metric in MAIN for run in marked(main, "best", metric)} == {"ft"}


def test_a_diverged_run_says_so_and_is_not_ranked(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,) * 3, ft=(0.9,) * 3, ga=(0.5, None, None)))
    assert lines_of(main.grids[0])["GA"].note == "diverged (2 of 3 seeds)"
    assert field_at(main, "GA", "UA (%)").value == "50.0"
    assert marked(main, "best", "ua") == ["ft"]
    assert "A diverged seed gives no number" in main.caption


def test_only_a_run_that_is_shown_is_told_of(tables_of):
    cell = by_hand(retrain=(0.5,) * 2, ft=(0.9,) * 2, **{"ft@lr=1": (None, None)})
    main, _ = tables_of(cell, RUNS | {"ft@lr=1": "FT, lr 1"})
    assert "diverged" not in main.caption


def test_a_collapsed_run_keeps_its_numbers_and_is_not_ranked(tables_of):
    cell = by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9))
    cell.add("ga", "ua", 0.5, 0.5, status="collapsed")
    main, _ = tables_of(cell)
    assert lines_of(main.grids[0])["GA"].note == "collapsed (2 of 2 seeds)"
    assert field_at(main, "GA", "UA (%)").value == "50.0 ± 0.0"
    assert marked(main, "best", "ua") == ["ft"]


def test_a_run_diverged_in_every_seed_is_a_row_of_dashes(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9), ga=(None, None)))
    fields = [field_at(main, "GA", heading) for heading in HEADINGS]
    assert [(field.value, field.deviation) for field in fields] == [("–", "")] * 4


def test_the_floor_row_shows_expected_deviations_and_their_gap(tables_of):
    cell = by_hand(retrain=(0.4, 0.6), ft=(0.9, 0.9))
    for metric in MAIN:
        cell.add_overall("retrain", "floor", 0.012, at=metric)
    cell.add_overall("retrain", "floor", 0.034, at="avg_gap")
    main, _ = tables_of(cell)
    floor = list(lines_of(main.grids[0]).values())[-1]
    assert (floor.label, floor.is_aside) == ("Retrain, other seeds", True)
    assert [field.deviation for field in floor.fields] == ["(1.2)"] * 4 + [""] * 2
    assert [field.value for field in floor.fields] == [""] * 4 + ["3.4", ""]
    assert field_at(main, "Retrain", "Avg. Gap").value == "0.0"
    records = {r["metric"]: r for r in main.records if r["run"] == "retrain_other_seeds"}
    assert (records["ua"]["deviation"], records["avg_gap"]["mean"]) == (0.012, 0.034)
    assert math.isnan(records["ua"]["mean"]) and math.isnan(records["avg_gap"]["deviation"])
    assert {(r["label"], r["kind"], r["n"]) for r in records.values()} == {
        ("Retrain, other seeds", "floor", "")
    }


def test_differences_within_the_noise_floor_have_a_mark(tables_of):
    cell = by_hand(retrain=(0.5, 0.5), ft=(0.524, 0.524), ga=(0.526, 0.526))
    # Two seeds: Student's t of one degree of freedom, times the normal law's sd of a mean |x|.
    cell.add_overall("retrain", "floor", 0.025 / (12.7062 * math.sqrt(math.pi / 2)), at="ua")
    main, _ = tables_of(cell)
    assert marked(main, "chance", "ua") == ["ft"]
    assert field_at(main, "FT", "UA (%)").is_chance
    assert not field_at(main, "GA", "UA (%)").is_chance


def test_one_seed_has_no_spread_and_no_floor_row(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,), ft=(0.9,)))
    assert field_at(main, "FT", "UA (%)").value == "90.0"
    assert list(lines_of(main.grids[0])) == ["Retrain", "FT"]
    assert "One seed" in main.caption
    assert "†" not in main.conventions


def test_an_undefined_metric_is_a_dash_and_no_best(tables_of):
    _, affected = tables_of(by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9)))
    assert field_at(affected, "FT", "RA affected (%)").value == "–"
    assert marked(affected, "best", "ra_affected") == []


def test_rows_follow_the_config_and_controls_come_last(tables_of):
    cell = full_cell(runs=("original", "rl", "ft", "ga", "ltd@support=random"))
    main, _ = tables_of(cell, {"ga": "GA", "original": "O", "ft": "FT", "rl": "RL"})
    groups = [[line.label for line in group] for group in main.grids[0].groups]
    assert groups == [["Retrain"], ["GA", "FT", "RL"], ["O", "Retrain, other seeds"]]


def test_sweeps_are_left_out_even_where_they_have_a_label(tables_of):
    cell = full_cell(runs=("ft", "ft@lr=1"))
    main, _ = tables_of(cell, {"ft": "FT", "ft@lr=1": "FT, lr 1"})
    assert "ft@lr=1" not in [record["run"] for record in main.records]


def test_seconds_have_no_deviation_and_stand_in_the_main_table_only(tables_of):
    cell = by_hand(retrain=(0.5, 0.5), ft=(0.9, 0.9))
    cell.add("ft", "rte", 1.0, 2.0)
    cell.add("retrain", "rte", 100.0, 100.0)
    main, affected = tables_of(cell)
    field = field_at(main, "FT", "RTE (s)")
    assert (field.value, field.deviation) == ("1.5 ± 0.7", "")
    assert field_at(main, "Retrain", "RTE (s)").value == "100 ± 0"
    assert "RTE (s)" not in affected.grids[0].headings


def test_the_caption_says_what_the_numbers_mean(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,) * 3, ft=(0.9,) * 3), sharing="matched")
    for text in ("digit_3, 50 % forgotten", "n = 3", "ddof=1", "matched"):
        assert text in main.caption
    for text in ("100 − UA", "RTE: seconds", "–: undefined", "†: within"):
        assert text in main.conventions


def test_conventions_describe_what_is_no_term_of_the_gap(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5,) * 3, ft=(0.9,) * 3))
    described = {label for label in ("UA", "RA", "TA", "MIA") if f"{label}: " in main.conventions}
    assert described == set()
    assert "RTE: " in main.conventions and "Avg. Gap: " in main.conventions


def test_a_sentence_on_the_extremes_has_the_unit_of_the_metric(tmp_path):
    cell = by_hand(retrain=(0.5,), ft=(0.9,), ga=(0.6,))
    for run, seconds in (("retrain", 100.0), ("ft", 1.5), ("ga", 30.0)):
        cell.add(run, "rte", seconds)
    found = read_cell(tmp_path, cell)
    assert (
        name_extremes(found, "rte")
        == "RTE is lowest with FT (1.5 s), and highest with GA (30.0 s)."
    )
    assert "nearest to Retrain's (50.0 %) with GA (60.0 %)" in name_extremes(found, "ua")


def test_seconds_of_different_devices_are_not_side_by_side_without_saying_so(tables_of):
    cell = full_cell()
    for run in ("retrain", "ft", "ga", "rl", "original"):
        cell.add(run, "on_device", *[1.0] * 3, at="A100" if run == "ga" else "V100")
    main, affected = tables_of(cell)
    assert "A100: GA" in main.caption and "must not be compared" in main.caption
    assert "must not be compared" not in affected.caption


def test_retrains_counterpart_of_a_methods_own_number_is_its_source(tmp_path):
    cell = full_cell()
    cell.add("ft", "teacher_ua", 0.5, 0.6, 0.7)
    table = compare(read_cell(tmp_path, cell), "x", "X", ("teacher_ua", "avg_gap"))
    heading = table.grids[0].headings[0]
    sources = [field_at(table, run, heading).source for run in ("Retrain", "FT")]
    assert sources == [Source("retrain", "ua"), Source("ft", "teacher_ua")]


def test_records_are_unrounded(tables_of):
    main, _ = tables_of(by_hand(retrain=(0.5, 0.5), ft=(1 / 3, 1 / 3)))
    [record] = [r for r in main.records if r["run"] == "ft" and r["metric"] == "ua"]
    assert (record["mean"], record["deviation"]) == (1 / 3, 1 / 3 - 0.5)
    assert (record["n"], record["status"], record["best"]) == (2, "ok", True)


def mixed(**forgotten: tuple[int, int]) -> FakeCell:
    """Return a cell of several classes: forgotten examples of each, and of how many."""
    cell = full_cell()
    for name, (count, of) in forgotten.items():
        cell.add_overall("retrain", "forget_count", count, at=name)
        cell.add_overall("retrain", "train_count", of, at=name)
    for row in (*cell.metrics, *cell.costs):
        row |= {"cell": "mixed", "class": "", "fraction": ""}
    return replace(cell, name="mixed")


def test_several_affected_classes_are_named_in_title_and_caption(tables_of):
    main, affected = tables_of(mixed(cat=(67, 135), dog=(1, 250)))
    title = "mixed: 50 % of cat, 0.4 % of dog forgotten"
    assert main.caption.startswith(f"All examples: {title}. Mean")
    assert affected.title == "Examples of the affected classes"
    assert affected.caption.startswith(
        f"Examples of the affected classes: {title}. "
        "Affected are the 2 classes that have a forgotten example (cat, dog). Mean"
    )


def test_many_affected_classes_are_counted(tables_of):
    _, affected = tables_of(mixed(**{f"class_{c}": (c + 1, 50) for c in range(5)}))
    assert affected.caption.startswith(
        "Examples of the affected classes: mixed: 15 examples of 5 classes forgotten. "
        "Affected are the 5 classes that have a forgotten example. Mean"
    )


def test_the_caption_names_a_single_affected_class_without_an_s(tables_of):
    _, affected = tables_of(full_cell())
    assert affected.caption.startswith(
        "Examples of the affected class: digit_3, 50 % forgotten. Mean"
    )

"""The table and the figure of localization: two cells, GA's difference rises and FT's does not."""

import json
from dataclasses import replace

import numpy as np
import pytest
from drive import run_stage
from fake_cell import Wrong, table_of
from fake_results import FakeCell, read_cell, read_cells
from table_reading import lines_of, texts_of

from collateral.findings.localization import CONTROLS, MEASURES, NEAREST, SETS
from collateral.findings.localization.numbers import across, compare_slopes
from collateral.findings.localization.views import plots_across, tables, tables_across
from collateral.jobs.figures import FiguresJob

NAMES = ("digit_3-50", "digit_8-50")
# Wrong predictions by seed, of five seeds.
RETRAIN = Wrong((25, 24, 26, 25, 23), (4, 5, 4, 3, 4), (2, 3, 2, 2, 1), (10, 11, 9, 10, 12))
ENDS = {"retrain": RETRAIN, "original": replace(RETRAIN, forget=(0, 0, 1, 0, 0))}
ALIKE = replace(RETRAIN, forget=(25, 25, 26, 25, 23))
SLOPES = {"retrain": 0.01, "ft": 0.01, "ga": 0.2, "original": 0.1}


def localized(name: str = NAMES[0], num_seeds: int = 3, factor: float = 1.0) -> FakeCell:
    """Return a cell whose differences rise by a slope; among hard ones, by half of it."""
    cell = FakeCell(name, name.split("-")[0])
    seeds = 0.001 * np.arange(num_seeds)
    for run, slope in SLOPES.items():
        cell.add(run, "ua", *(0.5 + seeds))
        for of in SETS:
            for share in NEAREST:
                values = factor * slope / share + seeds
                cell.add(run, "nearest_difference", *values, set=of, at=share)
            for control in CONTROLS:
                rise = factor * slope * (0.5 if control else 1)
                values = {"locality_slope": rise, "locality_rank": rise, "near_far_ratio": 1 + rise}
                for metric, value in values.items():
                    cell.add(run, metric, *(value + seeds), set=of, at=control)
                    for kind, reach in (("", 0.05), ("examples_", 0.02)):
                        known = reach if num_seeds > 1 or kind else np.nan
                        cell.add_overall(run, f"{metric}_{kind}low", value - known, of, control)
                        cell.add_overall(run, f"{metric}_{kind}high", value + known, of, control)
                low = rise - factor * SLOPES["retrain"] - 0.05 if num_seeds > 2 else np.nan
                if run in ("ft", "ga"):
                    cell.add_overall(run, "locality_excess_low", low, of, control)
    return cell


@pytest.fixture
def both(tmp_path):
    table = read_cells(tmp_path, localized(NAMES[0]), localized(NAMES[1], factor=0.5))
    rows = {(r.run, r.metric, r.set, str(r.at or "")): r.value for r in across(table)}
    return replace(table, _over_cells=rows)


def test_a_cells_table_has_the_mean_and_the_interval_over_seeds(tmp_path):
    [table] = tables(read_cell(tmp_path, localized()))
    plain, hard = table.grids
    assert (plain.corner, hard.corner) == ("All examples", "Equally hard ones")
    assert plain.headings[:3] == ["Slope, retained", "Spearman, retained", "Near / far, retained"]
    assert texts_of(plain)["GA"][:3] == ["2.01 [1.50, 2.50]", "0.20 [0.15, 0.25]", "1.2 [1.1, 1.2]"]
    assert texts_of(hard)["GA"][0] == "1.01 [0.50, 1.50]"
    assert [line.label for line in plain.groups[1]] == ["Original", "Retrain, next seed"]
    assert "over n = 3 seeds" in table.caption


def test_with_one_seed_the_brackets_are_over_examples(tmp_path):
    [table] = tables(read_cell(tmp_path, localized(num_seeds=1)))
    assert texts_of(table.grids[0])["GA"][1] == "0.20 [0.18, 0.22]"
    assert "other seeds may differ by more" in table.caption
    assert "Retrain, next seed" not in lines_of(table.grids[0])


def test_over_cells_there_is_a_line_a_method(both):
    [table] = tables_across(both)
    plain, hard = table.grids
    assert list(lines_of(plain)) == ["FT", "GA", "Retrain, next seed"]
    assert texts_of(plain)["Retrain, next seed"][-1] == "–"
    assert plain.headings[-2:] == ["Rises in, retained", "Rises in, test"]
    assert texts_of(plain)["GA"][:2] == ["1.51", "0.15"]
    assert texts_of(plain)["GA"][-2:] == ["2 of 2", "2 of 2"]
    assert texts_of(plain)["FT"][-2:] == ["0 of 2", "0 of 2"]
    assert texts_of(hard)["GA"][-1] == "1 of 2"  # half a slope of 0.1 is not 0.05 above Retrain's
    assert len(table.records) == 2 * 2 * 2 * 6


def over(table):
    rows = {(r.run, r.metric, r.set, str(r.at or "")): r.value for r in across(table)}
    [made] = tables_across(replace(table, _over_cells=rows))
    return texts_of(made.grids[0])


def test_a_cell_where_nothing_is_known_is_not_counted(tmp_path):
    table = read_cells(tmp_path, localized(NAMES[0]), localized(NAMES[1], num_seeds=2))
    assert over(table)["GA"][-2:] == ["1 of 1", "1 of 1"]


def test_a_cell_where_a_run_collapsed_is_left_out_as_in_the_figure(tmp_path):
    broken = localized(NAMES[1], factor=0.5)
    for row in broken.metrics:
        row["status"] = "collapsed" if row["run"] == "ga" else row["status"]
    table = read_cells(tmp_path, localized(NAMES[0]), broken)
    assert over(table)["GA"][0] == "2.01"
    assert over(table)["GA"][-1] == "1 of 1"
    assert over(table)["FT"][-1] == "0 of 2"
    assert nearest(table)[0] == pytest.approx(100 * (0.2 + 0.001))


def nearest(table) -> list[float]:
    """Return GA's difference on the nearest share, of retained and of test examples."""
    [plot] = plots_across(table)
    lines = [next(one for one in panel.series if one.label == "GA") for panel in plot.panels]
    return [line.y[list(line.x).index(1)] for line in lines]


def test_one_cell_has_no_table_over_cells(tmp_path):
    assert list(tables_across(read_cells(tmp_path, localized()))) == []


def test_lines_are_means_over_cells(both):
    [plot] = plots_across(both)
    for panel in plot.panels:
        assert [one.label for one in panel.series] == ["FT", "GA", "Retrain, next seed"]
        assert all(sorted(one.x) == sorted(NEAREST) for one in panel.series)
    assert nearest(both) == pytest.approx([100 * (0.2 * 0.75 + 0.001)] * 2)
    assert "Means over 2 cells; intervals are drawn from 3 cells on." in plot.notes[0]


def test_a_single_cell_is_drawn_with_its_seeds(tmp_path):
    [plot] = plots_across(read_cells(tmp_path, localized()))
    assert "Intervals: 95 %, over 3 seeds." in plot.notes[0]
    for panel in plot.panels:  # pairs of retrainings are no sample
        assert [bool(len(one.low)) for one in panel.series] == [True, True, False]


def test_without_numbers_nothing_is_shown(tmp_path):
    cell = FakeCell()
    cell.add("retrain", "ua", 0.5, 0.6)
    cell.add("ga", "ua", 0.5, 0.6)
    table = read_cells(tmp_path, cell)
    assert list(plots_across(table)) == list(tables(table.cells[0])) == []


def test_the_stage_draws_over_cells_beside_the_cells_folders(tmp_path, both):
    both.plan.save(tmp_path / "plan.json")
    run_stage(FiguresJob, tmp_path)
    folder = tmp_path / "figures"
    assert {path.name for path in folder.glob("localization.*")} == {
        *("localization.pdf", "localization.png")
    }
    [caption] = json.loads((folder / "captions.json").read_text())
    assert (caption["finding"], caption["name"]) == ("localization", "localization")


def test_the_numbers_of_made_up_outputs_are_as_counted(tmp_path):
    # Near ones that are wrong where Retrain is right differ by 0.5, all others by nothing.
    wrong = replace(ALIKE, near=tuple(count + 10 for count in ENDS["retrain"].near))
    cell = table_of(tmp_path, {**ENDS, "ga": wrong, "ft": ALIKE})
    # On the first seed the 5th to the 14th of the near ones; the nearest 5 % are the first ten.
    first = [cell.values("ga", "nearest_difference", "retain", share)[0] for share in NEAREST]
    assert first == pytest.approx([0, 0, 0.5, 4 * 0.5 / 10, 0, 0, 0])
    assert (cell.values("ga", "locality_slope", "retain") > 0.1).all()
    assert cell.number("ga", "locality_slope_low", "retain") > 0
    assert np.isnan(cell.values("ga", "near_far_ratio", "retain")).all()  # nothing far differs
    assert cell.values("ft", "locality_slope", "retain") == pytest.approx(0)
    assert set(MEASURES) <= set(cell.metrics("retrain"))
    assert cell.number("ga", "locality_excess_low", "retain") > 0


def test_pairs_of_retrainings_have_no_interval_over_seeds(tmp_path):
    cell = table_of(tmp_path, {**ENDS, "ft": ALIKE})
    assert not np.isnan(cell.values("retrain", "locality_slope", "retain")).any()
    assert np.isnan(cell.number("retrain", "locality_slope_low", "retain"))
    [table] = tables(cell)
    assert "[" not in texts_of(table.grids[0])["Retrain, next seed"][0]
    assert "it has no interval over seeds" in table.conventions


def test_a_rise_within_the_noise_of_retraining_is_no_rise():
    slopes = {"ft": (0.31, 0.31, 0.32), "ga": (0.5, 0.53, 0.51)}
    rows = compare_slopes(slopes, (0.3, 0.32, 0.31), "retain", None)
    found = {(row.run, row.metric): row.value for row in rows}
    assert found["ga", "locality_excess"] == pytest.approx((0.2 + 0.21 + 0.2) / 3)
    assert found["ft", "locality_excess_low"] < 0 < found["ga", "locality_excess_low"]


def test_more_methods_need_a_larger_slope():
    one = {"ga": (0.5, 0.6, 0.7)}
    two = {**one, "ft": (0.0, 0.1, -0.1)}
    alone, together = (
        list(compare_slopes(slopes, (0.0, 0.0, 0.0), "retain", None))[1].value
        for slopes in (one, two)
    )
    assert together < alone


def test_two_seeds_do_not_show_whether_damage_rises():
    [_, low] = compare_slopes({"ga": (0.5, 0.6)}, (0.0, 0.0), "retain", None)
    assert np.isnan(low.value)

"""Costs of every run, and what methods report of themselves."""

import pytest
from fake_results import FakeCell, read_cell
from table_reading import texts_of

from collateral.findings.costs.table import tables as costs
from collateral.findings.reported.table import tables as reported


def fake() -> FakeCell:
    cell = FakeCell()
    for run, seconds in (("retrain", (10.0, 20.0)), ("ft", (1.0, 2.0)), ("ga", (4.5, 4.5))):
        cell.add(run, "ua", 0.6, 0.7)
        cell.add(run, "rte", *seconds)
        cell.add(run, "seconds", *seconds, at="unlearn")
        cell.add(run, "peak_rss_mb", 300.4, 300.4)
    cell.add("ga", "seconds", 0.25, 0.75, at="prepare")
    cell.add("ga", "tuning_seconds", 12.34)
    return cell


@pytest.fixture
def cell(tmp_path):
    return read_cell(tmp_path, fake())


def test_totals_have_a_column_each_where_any_run_has_them(cell):
    [table] = costs(cell)
    totals = table.grids[0]
    assert totals.headings == ["RTE (s)", "Tuning (s)", "Memory (MB)", "of Retrain's RTE (%)"]
    assert texts_of(totals) == {
        "Retrain": ["15.0 ± 7.1", "–", "300 ± 0", "100.0"],
        "FT": ["1.50 ± 0.71", "–", "300 ± 0", "10.0"],
        "GA": ["4.50 ± 0.00", "12.3", "300 ± 0", "30.0"],
    }
    assert "Tuning: seconds of all trials" in table.conventions


def test_phases_are_prose(cell):
    phases = next(costs(cell)).grids[1]
    assert phases.is_prose
    assert texts_of(phases)["GA"] == ["prepare 0.50, unlearn 4.50"]


def test_records_are_of_totals_and_phases(cell):
    records = next(costs(cell)).records
    [phase] = [record for record in records if record["at"] == "prepare"]
    assert (phase["run"], phase["metric"], phase["mean"], phase["n"]) == ("ga", "seconds", 0.5, 2)
    assert {record["metric"] for record in records} == {
        *("rte", "tuning_seconds", "peak_rss_mb", "seconds")
    }


def test_without_costs_there_is_no_table(tmp_path):
    cell = FakeCell()
    cell.add("retrain", "ua", 0.5)
    assert list(costs(read_cell(tmp_path, cell))) == []


def test_numbers_that_methods_report_have_a_table_of_their_own(tmp_path):
    cell = fake()
    cell.add("ft", "teacher_ua", 0.4, 0.6)
    cell.add("ft", "depth", 3.0, 4.0)
    [table] = reported(read_cell(tmp_path, cell))
    lines = [[line.label, *(f.value for f in line.fields)] for line in table.grids[0].groups[0]]
    assert lines == [
        ["FT", "depth", "3.5 ± 0.7071"],
        ["FT", "Teacher UA (%)", "50.0 ± 14.1"],
    ]
    assert "Retrain's UA of 65.0 %" in table.caption
    assert [record["metric"] for record in table.records] == ["depth", "teacher_ua"]


def test_without_reports_there_is_no_table(cell):
    assert list(reported(cell)) == []

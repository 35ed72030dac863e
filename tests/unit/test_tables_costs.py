"""Costs of every run, and what methods report of themselves."""

import math

import pytest
from fake_cell import COST, Wrong, counted
from fake_results import FakeCell, read_cell
from sealing import seal
from table_reading import texts_of

from collateral.findings.costs.numbers import name_device, numbers, paying_deletions
from collateral.findings.costs.views import tables as costs
from collateral.findings.reported.views import tables as reported
from collateral.results.files import write_json


def fake() -> FakeCell:
    cell = FakeCell()
    for run, seconds in (("retrain", (10.0, 20.0)), ("ft", (1.0, 2.0)), ("ga", (4.5, 4.5))):
        cell.add(run, "ua", 0.6, 0.7)
        cell.add(run, "rte", *seconds)
        cell.add(run, "seconds", *seconds, at="unlearn")
        cell.add(run, "peak_rss_mb", 300.4, 300.4)
    cell.add("ga", "seconds", 0.25, 0.75, at="prepare")
    cell.add("ga", "tuning_seconds", 12.34)
    cell.add_overall("ga", "rte_share_with_tuning", 1.123)
    for run, share, deletions in (("ft", 0.1, 0.0), ("ga", 0.3, 12.34 / 10.5)):
        cell.add_overall(run, "rte_share", share)
        cell.add_overall(run, "paying_deletions", deletions)
    return cell


@pytest.fixture
def cell(tmp_path):
    return read_cell(tmp_path, fake())


def test_totals_have_a_column_each_where_any_run_has_them(cell):
    [table] = costs(cell)
    totals = table.grids[0]
    assert totals.headings == [
        *("RTE (s)", "Tuning (s)", "Memory (MB)", "Preparation (s)"),
        *("of Retrain's RTE (%)", "with tuning (%)", "Pays from"),
    ]
    assert texts_of(totals) == {
        "Retrain": ["15.0 ± 7.1", "–", "300 ± 0", "–", "100.0", "–", "–"],
        "FT": ["1.5 ± 0.7", "–", "300 ± 0", "–", "10.0", "–", "1"],
        "GA": ["4.5 ± 0.0", "12.3", "300 ± 0", "0.5 ± 0.4", "30.0", "112.3", "2"],
    }
    assert "Tuning: seconds of all tuning trials" in table.conventions


def test_phases_are_prose(cell):
    phases = next(costs(cell)).grids[1]
    assert phases.is_prose
    assert texts_of(phases)["GA"] == ["prepare 0.5, unlearn 4.5"]


def test_records_are_of_totals_and_phases(cell):
    records = next(costs(cell)).records
    [phase] = [record for record in records if record["at"] == "prepare"]
    assert (phase["run"], phase["metric"], phase["mean"], phase["n"]) == ("ga", "seconds", 0.5, 2)
    assert {record["metric"] for record in records} == {
        *("rte", "tuning_seconds", "peak_rss_mb", "seconds"),
        *("rte_share", "rte_share_with_tuning", "paying_deletions"),
    }


def test_the_number_of_deletions_is_tuning_over_what_each_saves():
    assert paying_deletions(tuning=30, seconds=4, retrain=10) == 5
    assert paying_deletions(tuning=0, seconds=4, retrain=10) == 0
    for seconds in (10, 11, math.nan):
        assert math.isnan(paying_deletions(30, seconds, 10))


def test_a_method_slower_than_retraining_never_pays(tmp_path):
    made = fake()
    for row in made.costs:
        if (row["run"], row["metric"]) == ("ga", "rte_share"):
            row["value"] = "1.0"
    [table] = costs(read_cell(tmp_path, made))
    assert texts_of(table.grids[0])["GA"][-1] == "never"


def test_the_table_of_costs_has_no_column_of_devices_if_there_is_one_device(cell, tmp_path):
    made = fake()
    for run in ("retrain", "ft", "ga"):
        made.add(run, "on_device", 1.0, 1.0, at="cpu AVX2, threads: 1")
    for table in (next(costs(cell)), next(costs(read_cell(tmp_path, made)))):
        assert "Device" not in table.grids[0].headings
        assert "device" not in table.caption


def test_times_of_different_devices_are_not_side_by_side_without_saying_so(tmp_path):
    made = fake()
    for run, device in (("retrain", "A100"), ("ft", "A100"), ("ga", "cpu AVX2, threads: 1")):
        made.add(run, "on_device", 1.0, 1.0, at=device)
    [table] = costs(read_cell(tmp_path, made))
    assert texts_of(table.grids[0])["GA"][-1] == "cpu AVX2, threads: 1"
    assert "different devices" in table.caption
    assert "A100: Retrain, FT; cpu AVX2, threads: 1: GA." in table.caption


@pytest.mark.parametrize(
    ("cost", "record", "device"),
    [
        ({"device": "cuda", "threads": 1}, {"numerics": {"device": "A100"}}, "A100"),
        (
            {"device": "cpu", "threads": 2},
            {"numerics": {"device": "cpu AVX2"}},
            "cpu AVX2, threads: 2",
        ),
        (
            {"device": "cpu", "threads": 1},
            {"numerics": {"device": "cpu AVX512"}, "params": {"precision": "bfloat16"}},
            "cpu AVX512, threads: 1, bfloat16",
        ),
        ({"device": "cuda"}, {"params": {"precision": "float32"}}, "cuda"),
        ({"device": "cpu"}, {}, "cpu"),
        ({}, {}, ""),
    ],
)
def test_a_device_is_named_by_what_decides_its_speed(cost, record, device):
    assert name_device(cost, record) == device


def seconds_cell(folder, name_device_run, tuned_on="cuda", select="paper"):
    """Return the numbers of FT, two of ten seconds, on a device; Retrain is on an A100."""
    at = {"retrain": (10.0, "A100"), "ft": (2.0, name_device_run)}
    ok = Wrong((0, 0), (0, 0), (0, 0), (0, 0))
    cell = counted(dict.fromkeys(at, ok))
    results = cell.write(folder, tuned=("ft",))
    for run, (seconds, device) in at.items():
        for seed in (0, 1):
            place = folder / "cell" / f"seed-{seed}" / run
            cost = COST | {"total_seconds": seconds, "device": "cuda"}
            write_json(place / "cost.json", cost)
            about = {"run": run, "status": "ok", "extra": {}, "numerics": {"device": device}}
            write_json(place / "record.json", about)
    tune, teacher = folder / "cell" / "tune" / "ft", folder / "cell" / "local_teacher"
    write_json(tune / "cost.json", COST | {"total_seconds": 24.0, "device": tuned_on})
    (tune / "trials.csv").write_text("trial\n0\n")
    write_json(tune / "record.json", {"select": select})
    write_json(teacher / "cost.json", COST | {"total_seconds": 8.0, "device": "cuda"})
    seal(folder)
    return {(row.run, row.metric): row.value for row in numbers(results) if row.seed is None}


def test_the_ledger_is_of_means_and_of_one_device(tmp_path):
    found = seconds_cell(tmp_path, "A100")
    shares = {("ft", "rte_share"): 0.2, ("ft", "rte_share_with_tuning"): (2 + 24) / 10}
    assert found == {**shares, ("ft", "paying_deletions"): 3}
    elsewhere = seconds_cell(tmp_path / "elsewhere", "V100")
    assert elsewhere.keys() == found.keys()
    assert all(math.isnan(value) for value in elsewhere.values())


def test_the_teacher_that_tuning_asks_is_paid_for_too(tmp_path):
    found = seconds_cell(tmp_path, "A100", select="teacher")
    assert found["ft", "paying_deletions"] == (24 + 8) / (10 - 2)
    assert found["ft", "rte_share_with_tuning"] == (2 + 24 + 8) / 10


def test_what_was_tuned_on_another_device_pays_nobody_knows_when(tmp_path):
    found = seconds_cell(tmp_path, "A100", tuned_on="cpu")
    assert found["ft", "rte_share"] == 0.2
    assert math.isnan(found["ft", "paying_deletions"])
    assert math.isnan(found["ft", "rte_share_with_tuning"])
    made = fake()
    for row in made.costs:
        if (row["run"], row["metric"]) == ("ga", "paying_deletions"):
            row["value"] = ""
    [table] = costs(read_cell(tmp_path / "table", made))
    assert texts_of(table.grids[0])["GA"][-1] == "–"


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

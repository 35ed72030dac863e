"""The long table: how rows are written, put together and read."""

import math
from pathlib import Path

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun

from collateral.contract.rows import Row
from collateral.metrics.statistics import standard_error
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Outputs
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep
from collateral.results.split import Split
from collateral.results.table import COLUMNS, COST_COLUMNS, read_tables, write_benchmark, write_cell

CHOSEN = {"kind": "class_part", "class": "three", "fraction": 0.5}
ANSWERS = Outputs(np.zeros((2, 2), np.float16), np.ones(2, np.float32), np.array([0, 1]))
PLAN = BenchmarkPlan({"ft": "FT", "rl": "RL"}, "matched", {"cell": CellPlan()})


def cell_of(folder: Path, chosen=CHOSEN, status: str = "ok"):
    labels = Labels(np.array([0, 1]), np.array([0, 1]), ("three", "eight"))
    split = Split(np.array([0]), 2, (0,), chosen)
    ones = np.ones((2, 2), np.float32)
    nothing = np.array([], dtype=np.int64)
    neighbours = Neighbours(np.array([2, 10]), ones, ones, ones, nothing.astype(str), nothing)
    runs = {
        (run, seed): FakeRun(ANSWERS, ANSWERS, status)
        for run in ("retrain", "ft", "rl")
        for seed in (2, 10)
    }
    return FakeCell(labels, split, neighbours, runs).write(folder)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_rows_are_sorted_with_seeds_and_indices_as_numbers(tmp_path):
    keys = [
        ("rl", 2, "ua", None),
        ("ft", 10, "delta_acc", 10),
        ("ft", 10, "delta_acc", 9),
        ("ft", 2, "ua", None),
        ("ft", 2, "class_drop", "b"),
        ("ft", 2, "class_drop", 3),
        ("ft", None, "ua", None),
    ]
    rows = [Row(run, metric, 1.0, seed, at=at) for run, seed, metric, at in keys]
    write_cell(tmp_path / "metrics.csv", cell_of(tmp_path), rows, COLUMNS)
    header, *found = lines(tmp_path / "metrics.csv")
    assert header == ",".join(COLUMNS)
    assert [tuple(line.split(",")[i] for i in (4, 3, 6, 8)) for line in found] == [
        ("ft", "", "ua", ""),
        ("ft", "2", "class_drop", "3"),
        ("ft", "2", "class_drop", "b"),
        ("ft", "2", "ua", ""),
        ("ft", "10", "delta_acc", "9"),
        ("ft", "10", "delta_acc", "10"),
        ("rl", "2", "ua", ""),
    ]


def test_a_row_has_full_precision_and_says_what_was_forgotten(tmp_path):
    rows = [Row("ft", "near_loss", np.float64(1) / 3, 2, "retain")]
    write_cell(tmp_path / "m.csv", cell_of(tmp_path, status="collapsed"), rows, COLUMNS)
    assert lines(tmp_path / "m.csv")[1] == (
        "cell,three,0.5,2,ft,method,near_loss,retain,,0.3333333333333333,collapsed"
    )


def test_undefined_values_are_empty(tmp_path):
    cell = cell_of(tmp_path, chosen={"kind": "indices"})
    write_cell(tmp_path / "m.csv", cell, [Row("retrain", "floor", math.nan, at="ua")], COLUMNS)
    assert lines(tmp_path / "m.csv")[1] == "cell,,,,retrain,reference,floor,,ua,,ok"


def test_cost_rows_have_no_status(tmp_path):
    write_cell(tmp_path / "c.csv", cell_of(tmp_path), [Row("ft", "rte", 1, 2)], COST_COLUMNS)
    header, row = lines(tmp_path / "c.csv")
    assert header == ",".join(COLUMNS[:-1])
    assert row == "cell,three,0.5,2,ft,method,rte,,,1.0"


def test_cells_come_by_name_and_what_is_over_them_last(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).write_text(f"{','.join(COLUMNS)}\n{name},,,,ft,method,ua,,,0.5,ok\n")
    over = [Row("ft", "mean_rank", 1.5, at="avg_gap")]
    write_benchmark(tmp_path / "all", [tmp_path / "b", tmp_path / "a"], over)
    assert [line.split(",")[0] for line in lines(tmp_path / "all")] == ["cell", "a", "b", ""]
    assert lines(tmp_path / "all")[-1] == ",,,,ft,method,mean_rank,,avg_gap,1.5,ok"


def test_cells_of_other_columns_are_refused(tmp_path):
    (tmp_path / "a").write_text("cell,run\n")
    (tmp_path / "b").write_text("cell,value\n")
    with pytest.raises(ValueError, match=r"b: columns 'cell,value' differ from 'cell,run' of .*a"):
        write_benchmark(tmp_path / "all", [tmp_path / "a", tmp_path / "b"])


def test_written_rows_are_read_back_unchanged(tmp_path):
    rows = [
        Row("retrain", "ua", 0.1, 2),
        Row("retrain", "ua", 0.7, 10),
        Row("ft", "ua", 1 / 3, 2),
        Row("ft", "ua", math.nan, 10),
        Row("ft", "delta_acc", 0.25, 10, "test", 9),
        Row("ft", "class_drop", 0.5, 2, at="three"),
        Row("ft", "class_drop", 0.5, 2, at="b"),
        Row("ft", "class_drop", 0.5, 2, at="10"),
        Row("ft", "class_drop", 0.5, 2, at="9"),
        Row("ft", "avg_gap", 0.125),
        Row("retrain", "forget_count", 1, at="three"),
        Row("retrain", "train_count", 1, at="three"),
    ]
    write_cell(tmp_path / "cell.csv", cell_of(tmp_path), rows, COLUMNS)
    over = [Row("ft", "mean_rank", 2, at="avg_gap")]
    write_benchmark(tmp_path / "m.csv", [tmp_path / "cell.csv"], over)
    table = read_tables(PLAN, tmp_path / "m.csv")
    assert table.number("ft", "mean_rank", at="avg_gap") == 2
    (cell,) = table.cells
    assert cell.title == "three, 50 % forgotten"
    assert cell.seeds == (2, 10)
    assert cell.labels == {"retrain": "Retrain", "ft": "FT"}
    assert cell.values("ft", "ua").tolist() == pytest.approx([1 / 3, math.nan], abs=0, nan_ok=True)
    assert cell.values("ft", "delta_acc", "test", 9).tolist()[1] == 0.25
    assert np.isnan(cell.values("ft", "delta_acc", "retain", 9)).all()
    assert cell.number("ft", "avg_gap") == 0.125
    assert math.isnan(cell.number("ft", "avg_gap_affected"))
    assert cell.indices("ft", "class_drop") == ["9", "10", "b", "three"]
    assert cell.forgotten == {"three": (1, 1)}


def test_a_cell_shows_its_own_runs_or_those_of_a_sweep(tmp_path):
    labels = {"ft": "FT", "ft@lr=1": "FT, lr 1", "rl": "RL"}
    rows = [Row(run, "ua", 0.5, seed) for run in ("retrain", "ft", "rl") for seed in (2, 10)]
    write_cell(tmp_path / "m.csv", cell_of(tmp_path), rows, COLUMNS)
    text = (tmp_path / "m.csv").read_text()
    swept = [line.replace(",ft,", ",ft@lr=1,") for line in text.splitlines() if ",ft," in line]
    (tmp_path / "m.csv").write_text(text + "\n".join(swept) + "\n")
    (cell,) = read_tables(BenchmarkPlan(labels), tmp_path / "m.csv").cells
    assert list(cell.labels) == ["retrain", "ft", "rl"]
    assert list(cell.with_sweeps().labels) == ["retrain", "ft", "ft@lr=1", "rl"]
    sweep = {"ft@lr=1": "1", "ft": "0.1 (own)", "ft@lr=9": "9"}  # the last was not run here
    assert cell.with_labels(sweep).labels == {
        "retrain": "Retrain",
        "ft@lr=1": "1",
        "ft": "0.1 (own)",
    }


def test_a_plan_comes_back_in_its_order(tmp_path):
    values = {"ltd@k=9": 9, "ltd": None}
    sweep = Sweep("k", "LTD", "k", "ltd", values, {"ltd@k=9": "9", "ltd": "as tuned"})
    plan = BenchmarkPlan(
        {"ltd": "LTD", "ft": "FT"},
        "shared",
        {"b": CellPlan((sweep,), {"ft": [{"lr": 0.1}]}), "a": CellPlan()},
    )
    plan.save(tmp_path / "plan.json")
    again = BenchmarkPlan.load(tmp_path / "plan.json")
    assert again == plan
    assert list(again.labels) == ["ltd", "ft"]
    assert list(again.cells) == ["b", "a"]
    assert list(again.cells["b"].sweeps[0].values) == ["ltd@k=9", "ltd"]


@pytest.mark.parametrize(
    ("values", "error"),
    [([1, 3], 1), ([1, 3, math.nan], 1), ([1, math.nan], math.nan), ([math.nan], math.nan)],
)
def test_a_standard_error_is_of_the_defined_seeds_alone(values, error):
    assert standard_error(np.array(values, float)) == pytest.approx(error, nan_ok=True)

import math

import numpy as np

from collateral.results.files import write_rows
from collateral.results.split import Split
from collateral.findings.costs.numbers import costs
from collateral.contract.rows import COLUMNS, COST_COLUMNS, Numbers, rows_of

SPLIT = Split(np.array([0]), 2, (0,), {"kind": "class_part", "class": "three", "fraction": 0.5})


def test_rows_are_sorted_by_run_seed_and_metric_with_seeds_as_numbers():
    runs = [("rl", 2), ("ft", 10), ("ft", 2), ("ft", None)]
    numbers = [Numbers(run, "method", seed, {"ua": 1, "ra": 1}) for run, seed in runs]
    rows = rows_of("three-50", SPLIT, numbers)
    assert [(row["run"], row["seed"], row["metric"]) for row in rows] == [
        ("ft", "", "ra"),
        ("ft", "", "ua"),
        ("ft", 2, "ra"),
        ("ft", 2, "ua"),
        ("ft", 10, "ra"),
        ("ft", 10, "ua"),
        ("rl", 2, "ra"),
        ("rl", 2, "ua"),
    ]


def test_a_row_has_full_precision_and_says_what_was_forgotten(tmp_path):
    numbers = [Numbers("ft", "method", 0, {"ua": np.float64(1) / 3}, "collapsed")]
    write_rows(tmp_path / "rows.csv", COLUMNS, rows_of("three-50", SPLIT, numbers))
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[1] == "three-50,three,0.5,0,ft,method,ua,0.3333333333333333,collapsed"


def test_what_is_undefined_is_empty():
    split = Split(np.array([0]), 2, (0,), {"kind": "indices"})
    (row,) = rows_of("some", split, [Numbers("ft", "method", None, {"ua": math.nan})])
    assert (row["class"], row["fraction"], row["seed"], row["value"]) == ("", "", "", "")


def test_cost_rows_have_no_status():
    (row,) = rows_of("c", SPLIT, [Numbers("ft", "method", 0, {"rte": 1})], COST_COLUMNS)
    assert tuple(row) == COST_COLUMNS == COLUMNS[:-1]


def test_costs_are_the_total_the_phases_and_the_memory():
    cost = {
        "seconds": {"prepare": 1.5, "unlearn": 2.0},
        "total_seconds": 3.5,
        "peak_rss_mb": 400,
        "peak_device_mb": None,
        "device": "cpu",
        "threads": 1,
        "job": None,
    }
    values = costs(cost)
    assert math.isnan(values.pop("peak_device_mb"))
    assert values == {
        "rte": 3.5,
        "seconds:prepare": 1.5,
        "seconds:unlearn": 2.0,
        "peak_rss_mb": 400,
    }

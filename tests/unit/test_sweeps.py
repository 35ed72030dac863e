"""Ablations: tables of every sweep, figures of those with numbers, and none of it elsewhere."""

import csv
import json

import numpy as np
import pytest
from fake_results import RUNS, FakeCell, full_cell

from collateral.cli import main
from collateral.report.page import Source, render
from collateral.results.table import cells, read

CELL = "digit_3-50"
ACCURACIES = ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected")


def given(key="lr", **values):
    """Return a sweep of `ft` as the rules pass it; runs are named by the names of the values."""
    runs = {"ft" if name == "own" else f"ft@{key}={name}": v for name, v in values.items()}
    return {
        "method": "FT",
        "key": key,
        "own": "ft",
        "values": runs,
        "labels": {run: str(value).removesuffix(".0") for run, value in runs.items()},
    }


NUMBERS = given(own=0.1, **{"1": 1.0, "0.01": 0.01})
WORDS = given(key="kind", hard="hard", own="soft")


def fake(**ua: float) -> FakeCell:
    """Return a cell with three seeds; a run's UA is given, by seed 1 point more and less."""
    cell = FakeCell()
    for run, value in ua.items():
        for metric in ACCURACIES:
            center = value if metric == "ua" else 0.5
            cell.add(run, metric, center - 0.01, center, center + 0.01)
        cell.add(run, "rte", 1.0, 2.0, 3.0)
        for gap in ("avg_gap", "avg_gap_affected"):
            cell.add_overall(run, gap, abs(value - 0.5) / 4)
    for metric in ACCURACIES:
        cell.add_overall("retrain", f"floor:{metric}", 0.01)
    return cell


def numeric() -> FakeCell:
    return fake(retrain=0.5, ft=0.6, ga=0.55, **{"ft@lr=1": 0.9, "ft@lr=0.01": 0.7})


def words() -> FakeCell:
    return fake(retrain=0.5, ft=0.6, ga=0.55, **{"ft@kind=hard": 0.52})


@pytest.fixture
def frame_of(tmp_path):
    def build(cell: FakeCell):
        cell.write(tmp_path)
        return read(tmp_path / "metrics.csv", tmp_path / "costs.csv")

    return build


@pytest.fixture
def swept(frame_of):
    """Return a function: a fake cell and a sweep in, the sweep's cell and the sweep out."""

    def build(cell: FakeCell, content=NUMBERS):
        (sweep,) = sweeps_of({"s": content})
        return sweep_cell(frame_of(cell), CELL, sweep), sweep

    return build


def tracked(num_epochs: int = 12, runs: tuple[str, ...] = ("ft",)) -> FakeCell:
    cell = numeric()
    for run in runs:
        for name in ACCURACIES:
            for epoch in range(num_epochs + 1) if name != "mia" else ():
                cell.add(
                    run, f"epoch_{name}:{epoch:02d}", *(epoch / 20 + s for s in (0, 0.01, 0.02))
                )
    return cell


# Stages and page.


@pytest.fixture
def benchmark(tmp_path):
    """Return the folder of a benchmark with a sweep of numbers, one of words and a tracked run."""
    folder = tmp_path / "digits"
    cell, other = tracked(), full_cell("digit_8-90")
    for row in words().metrics + words().costs:
        if row["run"] == "ft@kind=hard":
            (cell.costs if row["metric"] == "rte" else cell.metrics).append(row)
    bins = full_cell(CELL)
    runs = {row["run"] for row in cell.metrics}
    binned = ("bin_", "delta_", "floor_")
    cell.metrics += [r for r in bins.metrics if r["run"] in runs and r["metric"].startswith(binned)]
    for fake_cell in (cell, other):
        fake_cell.write(folder / fake_cell.name)
        (folder / fake_cell.name / "tuning.csv").write_text(
            "cell,run,chosen,nearest,gap_chosen,gap_default,gap_nearest,regret\n"
        )
    return folder


SWEEPS = {CELL: {"rate": NUMBERS, "kind": WORDS}}


def run_stages(folder):
    found = {name: [str(folder / cell / name) for cell in (CELL, "digit_8-90")]
             for name in ("metrics.csv", "costs.csv", "tuning.csv")}  # fmt: skip
    shared = ["--runs", json.dumps(RUNS), "--sweeps", json.dumps(SWEEPS)]
    main(
        [
            "tables",
            "--metrics", *found["metrics.csv"],
            "--costs", *found["costs.csv"],
            "--tuning", *found["tuning.csv"],
            *shared,
            "--out-metrics", str(folder / "metrics.csv"),
            "--out-costs", str(folder / "costs.csv"),
            "--out", str(folder / "tables"),
        ]
    )  # fmt: skip
    metrics = str(folder / "metrics.csv")
    main(["figures", "--metrics", metrics, *shared, "--out", str(folder / "figures")])


def test_the_stages_write_tables_of_the_cells_with_sweeps(benchmark):
    run_stages(benchmark)
    made = {path.name for path in (benchmark / "tables" / CELL).glob("sweep-*")}
    assert made == {f"sweep-{n}.{s}" for n in ("rate", "kind") for s in ("csv", "md", "tex")}
    assert not list((benchmark / "tables" / "digit_8-90").glob("sweep-*"))
    with (benchmark / "tables" / CELL / "sweep-rate.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "ua"]
    assert [(row["run"], float(row["mean"] or "nan")) for row in rows[:3]] == [
        ("retrain", 0.5),
        ("ft", pytest.approx(0.6)),
        ("ft@lr=1", pytest.approx(0.9)),
    ]


def test_the_page_shows_sweeps_in_a_section_of_their_own(benchmark):
    run_stages(benchmark)
    page = render({"digits": Source(benchmark, RUNS, "matched", SWEEPS)})
    sections = page.split('<section class="cell"')[1:]
    first, _, ablations = sections[0].partition(">Ablations</h4>")
    assert "FT: lr" in ablations and "FT: kind" in ablations and "<h5>Epochs</h5>" in ablations
    assert ablations.count('alt="sweep-rate-') == 2
    assert ablations.count('alt="epochs') == 1
    assert "sweep-" not in first and 'alt="epochs' not in first
    assert "0.1 (own)" in ablations
    assert "Ablations" not in sections[1]

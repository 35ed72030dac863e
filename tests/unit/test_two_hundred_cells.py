"""A benchmark of two hundred cells, with a sweep each, from the cells' numbers to the index.

Its figures are two: to draw four hundred takes minutes, and each is drawn by itself.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drive import run_stage, write_index
from fake_results import FakeCell, full_cell, write_cells
from page_reading import Links, draw
from sealing import sign_folder

from collateral.findings.registry import read_problems
from collateral.jobs._job import Job
from collateral.jobs.gather import GatherJob
from collateral.jobs.report import ReportJob
from collateral.jobs.tables import TablesJob
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep
from collateral.results.table import read_tables

pytestmark = pytest.mark.slow
CELLS = [f"digit_{place}-50" for place in range(200)]
MOST_SECONDS = 60  # of CPU, for a stage
LARGEST = 131_072  # bytes that Linux allows one argument of a command


def small_cell(name: str) -> FakeCell:
    """Return a cell without its bins, which no table shows."""
    cell = full_cell(name, num_seeds=2, runs=("ga", "ft", "ft@lr=1"))
    cell.metrics = [row for row in cell.metrics if not row["metric"].startswith(("bin_", "delta_"))]
    return cell


def plan() -> BenchmarkPlan:
    values = {"ft": 0.1, **{f"ft@lr={n}": n for n in range(1, 20)}}
    sweep = Sweep("rate", "FT", "lr", "ft", values, {run: str(n) for run, n in values.items()})
    labels = {"ga": "GA", **{run: run for run in values}}
    return BenchmarkPlan(labels, "matched", {name: CellPlan((sweep,)) for name in CELLS})


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """What the metrics jobs of all cells left, and two figures."""
    folder = tmp_path_factory.mktemp("results") / "many"
    for name in CELLS[:2]:
        draw(folder, name, ("locality", "similarity"))
    write_cells(folder, plan(), *map(small_cell, CELLS))
    return folder


@pytest.fixture(scope="module")
def stage(folder) -> Callable[..., None]:
    """Return a function that runs a stage on it, in time."""

    def run(kind: type[Job], **fields: Any) -> None:
        start = time.process_time()
        run_stage(kind, folder, **fields)
        assert time.process_time() - start < MOST_SECONDS

    return run


@pytest.fixture(scope="module")
def gathered(folder, stage) -> dict[str, Path]:
    """The numbers of all cells."""
    names = {"metrics": layout.METRICS, "costs": layout.COSTS, "problems": layout.PROBLEMS}
    made = {option: folder / name for option, name in names.items()}
    stage(GatherJob, cells=CELLS)
    return {option: made[option] for option in ("metrics", "costs")}


@pytest.fixture(scope="module")
def presented(folder, stage, gathered) -> Path:
    """The same with tables and the page."""
    stage(TablesJob)
    sign_folder(folder / layout.FIGURES)
    stage(ReportJob, cells=[])
    return folder


def test_the_plan_is_more_than_one_argument_may_hold(folder):
    assert (folder / layout.PLAN).stat().st_size > LARGEST


def test_all_cells_are_gathered(gathered):
    table = read_tables(plan(), *gathered.values())
    assert {cell.name for cell in table.cells} == {*CELLS}
    assert table.number("ft", "ranked_cells", at="avg_gap") == len(CELLS)


def test_every_cell_has_its_tables(presented):
    tables = presented / layout.TABLES
    for name in ("main", "sweep-rate"):
        assert len(list(tables.glob(f"*/{name}.md"))) == len(CELLS)
    assert (tables / "summary.md").exists()
    assert read_problems([tables / layout.PROBLEMS]) == []


def test_every_cell_is_on_the_page_and_in_the_index(presented):
    index = presented.parent / "report.html"
    write_index(presented.parent, presented.name)
    assert {f"cell-{name}" for name in CELLS} <= {
        *Links((presented / layout.REPORT).read_text()).anchors
    }
    assert {f"many/report.html#cell-{name}" for name in CELLS} <= {
        *Links(index.read_text()).followed
    }
    assert read_problems([presented / layout.REPORT_PROBLEMS]) == []

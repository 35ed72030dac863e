"""The stage `gather`: cells' files in, the benchmark's out."""

from pathlib import Path

import pytest
from drive import run_stage
from fake_results import RUNS, full_cell, write_cells
from sealing import seal

from collateral.findings.registry import Problem, read_problems, write_problems
from collateral.jobs.gather import GatherJob
from collateral.results import layout
from collateral.results.plan import BenchmarkPlan, CellPlan
from collateral.results.provenance import FILES, INPUTS, read_signed


def plan_of(*cells: str) -> BenchmarkPlan:
    return BenchmarkPlan(RUNS, "matched", {cell: CellPlan() for cell in cells})


TWO = plan_of("digit_3-50", "digit_8-90")


def gather(folder: Path) -> None:
    run_stage(GatherJob, folder, cells=[*BenchmarkPlan.load(folder / layout.PLAN).cells])


def test_the_cells_of_the_plan_stand_below_one_another_and_what_is_over_all_last(tmp_path):
    cells = full_cell("digit_8-90"), full_cell("digit_3-50")
    write_cells(tmp_path, plan_of("digit_8-90", "digit_3-50"), *cells)
    full_cell("digit_1-50").write(tmp_path / "digit_1-50")  # of an earlier config
    gather(tmp_path)
    for name in (layout.METRICS, layout.COSTS):
        cells = [(tmp_path / cell / name).read_text() for cell in ("digit_3-50", "digit_8-90")]
        header, _, first = cells[0].partition("\n")
        _, _, second = cells[1].partition("\n")
        text = (tmp_path / name).read_text()
        assert text.startswith(f"{header}\n{first}{second}")
        rest = text.removeprefix(f"{header}\n{first}{second}")
        assert all(line.startswith(",,,") for line in rest.splitlines())
        assert bool(rest) == (name == layout.METRICS)


def test_problems_of_cells_are_kept(tmp_path):
    write_cells(tmp_path, TWO, full_cell("digit_3-50"), full_cell("digit_8-90"))
    problem = Problem("gap", "numbers", "digit_8-90", "MemoryError: ")
    write_problems(tmp_path / "digit_8-90" / layout.PROBLEMS, [problem])
    seal(tmp_path)
    gather(tmp_path)
    assert read_problems([tmp_path / layout.PROBLEMS]) == [problem]


def test_the_records_name_the_plan_and_the_cells_files(tmp_path):
    write_cells(tmp_path, TWO, full_cell("digit_3-50"), full_cell("digit_8-90"))
    gather(tmp_path)
    made_of = {"metrics.csv": ("metrics.csv", "problems.json"), "costs.csv": ("costs.csv",)}
    for name, files in made_of.items():
        record = read_signed(layout.record_path(tmp_path / name))
        cells = {f"{cell}/{file}" for cell in TWO.cells for file in files}
        assert {"plan.json", *cells} <= {*record[INPUTS]}
        assert {*record[FILES]} == {*files} | ({"gates.json"} if name == "metrics.csv" else set())


def test_a_file_of_a_cell_that_was_changed_is_refused(tmp_path):
    write_cells(tmp_path, plan_of("digit_3-50"), full_cell("digit_3-50"))
    with (tmp_path / "digit_3-50" / layout.COSTS).open("a") as file:
        file.write("\n")
    with pytest.raises(ValueError, match=r"digit_3-50/costs\.csv: its content is not"):
        gather(tmp_path)

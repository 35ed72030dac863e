"""The stage: every finding's tables in their folders, and what could not be made."""

import csv
from pathlib import Path

import pytest
from drive import run_stage
from fake_results import RUNS, FakeCell, full_cell, read_cells, supports_cell, whole_class_cell
from plug_ins import forgotten_after

from collateral.findings.registry import in_page_order, read_problems
from collateral.findings.summary import STANDINGS
from collateral.jobs.tables import TablesJob
from collateral.plugins.find import FINDING, add_plugins
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep

ALWAYS = ("affected", "costs", "main", "membership", "near-and-far")


def make_tables(folder: Path, *cells: FakeCell, plan: BenchmarkPlan | None = None) -> Path:
    """Run the stage on some cells; return the folder of the tables."""
    plan = plan or BenchmarkPlan(RUNS, "shared", {cell.name: CellPlan() for cell in cells})
    read_cells(folder, *cells, plan=plan)
    plan.save(folder / "plan.json")
    run_stage(TablesJob, folder)
    return folder / "tables"


def stems(folder: Path) -> set[str]:
    """Return the names of the tables in a folder, each of which has its three files."""
    files = sorted(path.name for path in folder.iterdir() if path.suffix != ".json")
    found = {name.rpartition(".")[0] for name in files if "." in name}
    whole = {f"{stem}.{suffix}" for stem in found for suffix in ("csv", "md", "tex")}
    assert whole == {name for name in files if "." in name and not (folder / name).is_dir()}
    return found


def test_every_cell_has_its_tables(tmp_path):
    out = make_tables(tmp_path, full_cell("digit_3-50"), full_cell("digit_8-90"))
    for name in ("digit_3-50", "digit_8-90"):
        assert stems(out / name) == {*ALWAYS}
    assert r"\label{tab:main-digit_8-90}" in (out / "digit_8-90/main.tex").read_text()
    assert "(shared)" in (out / "digit_3-50/main.md").read_text()
    assert read_problems([out / "problems.json"]) == []
    with (out / "digit_3-50/main.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 6 * 6  # six rows, six columns


def test_some_tables_are_there_where_there_is_something_to_show(tmp_path):
    swept = full_cell("digit_8-90", runs=("ft", "ft@lr=1"))
    sweep = Sweep(
        "rate", "FT", "lr", "ft", {"ft": 0.1, "ft@lr=1": 1}, {"ft": "0.1", "ft@lr=1": "1"}
    )
    tuned = full_cell("digit_1-50")
    for metric in ("gap_chosen", "gap_default", "gap_nearest", "regret"):
        tuned.add("ft", metric, 0.01)
    for metric in ("trial_chosen", "trial_nearest"):
        tuned.add("ft", metric, 0)
    tuned.add("ft", "teacher_ua", 0.4, 0.5, 0.6)
    plans = {
        "digit_8-90": CellPlan(sweeps=(sweep,)),
        "digit_1-50": CellPlan(trials={"ft": [{"lr": 0.1}]}),
    }
    plan = BenchmarkPlan({**RUNS, "ft@lr=1": "FT, lr 1"}, "matched", plans)
    out = make_tables(tmp_path, swept, tuned, whole_class_cell(), supports_cell(), plan=plan)
    assert read_problems([out / "problems.json"]) == []
    more = {
        "digit_8-90": {"sweep-rate"},
        "digit_1-50": {"tuning", "reported"},
        "digit_9-100": {"classes"},
        "digit_3-50": {"support-sizes", "support-auto", "support-retrain", "reported"},
    }
    for name, names in more.items():
        assert stems(out / name) == {*ALWAYS, *names}
    assert {path.name for path in out.glob("*.md")} == {"tuning.md"}


def test_findings_follow_each_other_by_their_order():
    names = in_page_order("views")
    orders = [FINDING.load(name).ORDER for name in names]
    assert orders == sorted(orders)
    assert {"gap", "locality", "classes", "sweeps", "tuning", "costs", "reported"} < {*names}


def test_over_cells_stands_beside_their_folders(tmp_path):
    cell = full_cell()
    for metric in STANDINGS:
        cell.add_overall("ft", metric, 1.0, at="avg_gap")
    for row in cell.metrics[-len(STANDINGS) :]:
        row["cell"] = ""
    out = make_tables(tmp_path, cell)
    assert "| FT | 1 of 1 | 1 | 1 | 100.0 |" in (out / "summary.md").read_text()


MINE = """
from collateral.contract.tables import Field, Grid, Line, Table

def tables(cell):
    fields = [Field("1")] * (1 if cell.name == "digit_3-50" else 2)
    yield Table({name!r}, "Mine", [Grid("a", ["b"], [[Line("c", fields)]])])
"""


@pytest.fixture
def plug_in(tmp_path):
    """Return a function that adds a finding, whose table raises in all cells but one."""

    def add(table: str) -> None:
        folder = tmp_path / "mine" / "findings" / "mine"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text('"""Mine?"""\nORDER = 99\nMETRICS = {}\n')
        (folder / "views.py").write_text(MINE.format(name=table))
        add_plugins([tmp_path / "mine"])

    with forgotten_after():
        yield add


def test_one_that_raises_is_named_and_the_rest_goes_on(plug_in, tmp_path):
    plug_in("mine")
    out = make_tables(tmp_path, full_cell("digit_3-50"), full_cell("digit_8-90"))
    [problem] = read_problems([out / "problems.json"])
    assert (problem.finding, problem.part, problem.cell) == ("mine", "table", "digit_8-90")
    assert stems(out / "digit_3-50") == {*ALWAYS, "mine"}
    assert stems(out / "digit_8-90") == {*ALWAYS}


def test_a_table_that_another_finding_has_is_refused(plug_in, tmp_path):
    plug_in("main")
    out = make_tables(tmp_path, full_cell("digit_3-50"))
    [problem] = read_problems([out / "problems.json"])
    assert problem.error == "ValueError: finding gap has a table 'main' already; rename it"
    assert "Avg. Gap" in (out / "digit_3-50/main.md").read_text()

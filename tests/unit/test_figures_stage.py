"""The stage `figures`: what it writes, and what it does where a finding cannot be drawn."""

import json
from dataclasses import replace

import pytest
from drive import run_stage
from fake_results import RUNS, FakeCell, full_cell, read_cells, supports_cell
from PIL import Image

from collateral.jobs.figures import FiguresJob
from collateral.plots.plot import Panel, Plot
from collateral.plugins.find import FINDING
from collateral.results.files import read_json
from collateral.results.plan import BenchmarkPlan, CellPlan, Sweep

CELL = "digit_3-50"
PLAN = BenchmarkPlan(RUNS)


@pytest.fixture
def stage(tmp_path):
    """Return a function: cells in, the folder of their figures out."""

    def run(*cells, plan=PLAN, out="figures", processes=1):
        read_cells(tmp_path, *cells, plan=plan)
        plan.save(tmp_path / "plan.json")
        run_stage(FiguresJob, tmp_path, threads=processes)
        return (tmp_path / "figures").rename(tmp_path / out)

    return run


def captions_in(folder, cell=CELL):
    return json.loads((folder / cell / "captions.json").read_text())


def problems_in(folder):
    return json.loads((folder / "problems.json").read_text())["problems"]


def replace_plots(monkeypatch, finding, plots):
    monkeypatch.setattr(FINDING.load(finding, "views"), "plots", plots)


def test_every_cell_has_its_figures_and_captions_in_the_pages_order(stage):
    folder = stage(supports_cell(), full_cell("digit_8-90", runs=("ga",)))
    supports = ["support-kl", "support-accuracy", "support-drop", "support-retrain"]
    wanted = {CELL: ["similarity", "affected", *supports], "digit_8-90": ["similarity", "affected"]}
    for cell, names in wanted.items():
        captions = captions_in(folder, cell)
        assert [caption["name"] for caption in captions] == names
        assert [caption["finding"] for caption in captions] == [
            {"similarity": "locality", "affected": "accuracy"}.get(name, "support_size")
            for name in names
        ]
        assert all(caption["caption"].endswith(".") for caption in captions)
        files = {f"{name}.{kind}" for name in names for kind in ("pdf", "png")}
        assert {path.name for path in (folder / cell).iterdir()} == files | {"captions.json"}
    assert problems_in(folder) == []


def test_the_sweeps_of_the_plan_and_tracked_epochs_are_drawn_in_their_cell(stage):
    values = {"ga": 0.1, "ga@lr=1": 1.0, "ga@lr=2": 2.0}
    sweep = Sweep("rate", "GA", "lr", "ga", values, {run: str(v) for run, v in values.items()})
    plan = BenchmarkPlan(
        RUNS | {"ga@lr=1": "GA, lr 1", "ga@lr=2": "GA, lr 2"}, None, {CELL: CellPlan((sweep,))}
    )
    cell = full_cell(runs=tuple(values))
    for epoch in range(3):
        cell.add("ga", "epoch_ua", 0.1, 0.2, 0.3, at=epoch)
    folder = stage(cell, full_cell("digit_8-90", runs=("ga",)), plan=plan)
    ours = ["sweep-rate-standard", "sweep-rate-affected", "epochs"]
    names = [caption["name"] for caption in captions_in(folder)]
    assert names == ["similarity", "affected", *ours]
    assert len(captions_in(folder, "digit_8-90")) == 2
    assert problems_in(folder) == []


def test_two_processes_write_the_same_bytes_as_one(stage):
    cells = (full_cell(runs=("ga",)), full_cell("digit_8-90", runs=("ga",)))
    one, two = (stage(*cells, out=out, processes=n) for out, n in (("one", 1), ("two", 2)))
    names = read_json(one / "record.json")["files"]
    assert names and names == read_json(two / "record.json")["files"]


def test_a_second_run_writes_the_same_bytes(stage):
    one, two = (stage(full_cell(runs=("ga", "original")), out=out) for out in ("one", "two"))
    names = read_json(one / "record.json")["files"]
    assert len(names) == 6
    assert read_json(one / "record.json") == read_json(two / "record.json")
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_a_finding_that_raises_is_named_and_the_others_are_drawn(stage, monkeypatch):
    def plots(cell):
        yield Plot("before", "A title", "A figure.", [Panel([])])
        raise ZeroDivisionError("no width")

    replace_plots(monkeypatch, "locality", plots)
    folder = stage(full_cell(runs=("ga",)))
    assert problems_in(folder) == [
        {
            "finding": "locality",
            "part": "plots",
            "cell": CELL,
            "error": "ZeroDivisionError: no width",
        }
    ]
    assert [caption["name"] for caption in captions_in(folder)] == ["before", "affected"]


def test_two_findings_with_a_figure_of_one_name_are_a_problem(stage, monkeypatch):
    def plots(cell):
        yield Plot("similarity", "A title", "Another's name.", [Panel([])])

    replace_plots(monkeypatch, "accuracy", plots)
    folder = stage(full_cell(runs=("ga",)))
    [problem] = problems_in(folder)
    assert problem["finding"] == "accuracy"
    assert "finding locality has a plot 'similarity' too" in problem["error"]
    assert [caption["finding"] for caption in captions_in(folder)] == ["locality"]


def test_a_cell_without_figures_has_an_empty_list_of_captions(stage):
    fake = FakeCell()
    fake.add("retrain", "ua", 0.5, 0.6)
    folder = stage(fake)
    assert captions_in(folder) == []
    assert problems_in(folder) == []


def test_the_plan_sets_the_width_and_captions_have_title_and_notes(stage):
    folder = stage(full_cell(runs=("ga",)), plan=replace(PLAN, figure_width=4.0))
    first = captions_in(folder)[0]
    assert first["title"] == "digit_3, 50 % forgotten"
    assert "over 3 seeds" in first["notes"]
    with Image.open(folder / CELL / "similarity.png") as picture:
        assert picture.width == 4 * 200

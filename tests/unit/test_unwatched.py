"""Why a job without Snakemake's metadata runs again, and the line that says so."""

import pytest
from small_grid import grid
from test_comparison import CELL, TUNED, changed, finished

from collateral.plan.diff import PRESENTED, Unwatched

__all__ = ["finished"]  # the fixture
RUN = f"results/b/{CELL}/seed-3/ft"
RECORD = f"{RUN}/record.json"
OUTPUTS = [f"{RUN}/model.safetensors", f"{RUN}/outputs.npz", RECORD]


@pytest.fixture
def unwatched(finished, tmp_path, monkeypatch):
    """The finished benchmark, which the plan expects below results/."""
    folder = tmp_path / "project"
    (folder / "results").mkdir(parents=True)
    (folder / "results/b").symlink_to(finished)
    monkeypatch.chdir(folder)
    return Unwatched({"b": grid(**TUNED)})


def test_what_is_as_planned_stays(unwatched):
    assert unwatched.reason(OUTPUTS) == ""
    [line] = unwatched.lines()
    assert line.endswith("compared with the plan: all as planned.")


def test_what_was_never_run_is_not_compared_and_nothing_is_said(unwatched):
    assert unwatched.reason(["results/b/base/seed-5/record.json"]) == ""
    assert unwatched.lines() == []


def test_files_of_other_workflows_are_not_ours(unwatched, tmp_path):
    (tmp_path / "project/theirs.csv").touch()
    assert unwatched.reason(["theirs.csv"]) == ""
    assert unwatched.lines() == []


def test_what_differs_is_named_with_how(unwatched, finished):
    changed(finished, f"{CELL}/seed-3/ft/record.json", seed=4)
    assert unwatched.reason(OUTPUTS) == f"{RECORD}: seed: 4, planned 3"
    head, line = unwatched.lines()
    assert head.endswith(": 1 not as planned, run again with all that depends on them:")
    assert line == f"{RECORD}: seed: 4, planned 3"


def test_a_broken_record_is_made_again(unwatched, finished):
    (finished / CELL / "seed-3/ft/record.json").write_text("{")
    assert unwatched.reason(OUTPUTS).startswith(f"{RECORD}: broken: ")


@pytest.mark.parametrize(
    "path",
    ["b/metrics.csv", "b/tables", f"b/{CELL}/costs.csv", "b/check.done", "report.html",
     "theory/record.json"],
)  # fmt: skip
def test_what_takes_seconds_is_made_again_if_it_is_there(unwatched, tmp_path, path):
    path = f"results/{path}"
    assert unwatched.reason([path]) == ""
    file = tmp_path / "project" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    assert unwatched.reason([path]) == PRESENTED

"""The stage `theory`, with few runs."""

import io

import pandas as pd
import pytest

from collateral.contract.conventions import FIGURE_WIDTH
from collateral.jobs.theory import TheoryJob
from collateral.plan import paths
from collateral.plugins.find import STAGE
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job

theory = STAGE.load("theory")


def run(results):
    job = TheoryJob(seed=0, runs=4, width=FIGURE_WIDTH)
    run_job(Workspace(job, results))
    out = results / "theory"
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.*")}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return run(tmp_path_factory.mktemp("theory"))


def test_it_writes_tables_and_figures(files):
    figures = {
        f"figures/{name}.{kind}"
        for name in ("synthetic", "retain-residual", "support")
        for kind in ("pdf", "png")
    }
    assert set(files) == {
        "theory.csv",
        "findings.csv",
        "checks.csv",
        "statements.json",
        "record.json",
        "figures/captions.json",
        *figures,
    }


def test_the_rule_declares_what_it_writes(files):
    declared = paths.theory_files().values()
    flat = [path for one in declared for path in (one if isinstance(one, list) else [one])]
    assert {path.removeprefix(f"{paths.THEORY}/") for path in flat} == set(files)


def test_a_second_run_writes_the_same_bytes(files, tmp_path, monkeypatch):
    one_plot = [*theory.make_plots(pd.read_csv(io.BytesIO(files["theory.csv"])), 4)][2:]
    monkeypatch.setattr(theory, "make_plots", lambda *_: one_plot)  # one will do
    again = run(tmp_path)
    same = {
        "theory.csv",
        "findings.csv",
        "checks.csv",
        "statements.json",
        "figures/support.pdf",
        "figures/support.png",
    }
    assert {name for name in again if again[name] == files[name]} == same


def test_the_points_are_sorted(files, tmp_path):
    (tmp_path / "theory.csv").write_bytes(files["theory.csv"])
    points = pd.read_csv(tmp_path / "theory.csv")
    assert list(points) == ["panel", "series", "x", "y", "low", "high", "predicted"]
    assert points.equals(points.sort_values(["panel", "series", "x", "y"], kind="stable"))

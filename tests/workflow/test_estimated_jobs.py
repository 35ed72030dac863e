"""The estimate against what snakemake plans, and against what is on disk afterwards."""

import json

import pytest
from conftest import Project

from collateral.cli import main

pytestmark = pytest.mark.workflow


def estimated(project: Project, config: str, capsys: pytest.CaptureFixture[str]) -> dict:
    main(["estimate", str(project.folder / config), "--json", "--jobs", "2"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "config", ["config.yaml", *(f"configs/{n}.yaml" for n in ("smoke", "mnist", "paper"))]
)
def test_as_many_jobs_are_estimated_as_planned(fresh, config, capsys):
    planned = fresh.planned("--configfile", config)
    found = estimated(fresh, config, capsys)
    kinds = {rule: part["jobs"] for rule, part in found["kinds"].items() if part["jobs"]}
    assert kinds == planned


def test_the_results_are_as_large_as_estimated(finished, capsys):
    files = [path for path in (finished.folder / "results").rglob("*") if path.is_file()]
    there = sum(512 * path.stat().st_blocks for path in files)
    found = estimated(finished, "configs/smoke.yaml", capsys)
    assert found["total"]["bytes"] == pytest.approx(there, rel=0.2)

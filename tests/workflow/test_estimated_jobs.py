"""The estimate against what snakemake plans, and against what is on disk afterwards."""

import json
from pathlib import Path

import pytest
from conftest import REPOSITORY, Project, read_yaml, write_weights

from collateral.cli import main
from collateral.plan.work import BLOCK

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
CONFIGS = ["config.yaml", *(f"configs/{p.name}" for p in sorted(REPOSITORY.glob("configs/*.yaml")))]


def estimated(project: Project, config: str, capsys: pytest.CaptureFixture[str]) -> dict:
    main(["estimate", str(project.folder / config), "--json", "--jobs", "2", "--device", "cpu"])
    return json.loads(capsys.readouterr().out)


def test_there_are_configs_to_compare():
    assert {"configs/paper.yaml", "configs/smoke.yaml"} < set(CONFIGS)


@pytest.mark.parametrize("config", CONFIGS)
def test_as_many_jobs_are_estimated_as_planned(fresh, config, capsys, monkeypatch):
    for benchmark in read_yaml(REPOSITORY / config)["benchmarks"].values():
        if not Path(benchmark["data"].get("path", ".")).exists():
            pytest.skip(f"needs {benchmark['data']['path']}: docs/results.md makes it")
        if weights := benchmark.get("base", {}).get("weights"):  # a download of CIFAR-100
            (fresh.folder / weights).parent.mkdir(exist_ok=True)
            write_weights(fresh.folder / weights, benchmark["model"], 100, (32, 32, 3))
    monkeypatch.chdir(fresh.folder)
    planned = fresh.planned("--configfile", config)
    found = estimated(fresh, config, capsys)
    kinds = {rule: part["jobs"] for rule, part in found["kinds"].items() if part["jobs"]}
    assert kinds == planned


def test_the_results_are_as_large_as_estimated(finished, capsys):
    files = [path for path in (finished.folder / "results").rglob("*") if path.is_file()]
    there = sum(-(-path.stat().st_size // BLOCK) * BLOCK for path in files)
    found = estimated(finished, "configs/smoke.yaml", capsys)
    assert found["total"]["bytes"] == pytest.approx(there, rel=0.2)

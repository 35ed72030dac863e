"""The smoke experiment, run for real: what it leaves, and what a second run does."""

import csv
import hashlib
import re
import shutil
from pathlib import Path

import pytest
from conftest import REPOSITORY, SMOKE, TORCH_RULES, Project, copy_project

from collateral.config.lookup import names

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
# What is never the same twice: costs, and what shows them.
COSTS = {"cost.json", "costs.csv", "main.csv", "main.md", "main.tex", "report.html"}
# The rules that `make figures` considers.
PRESENT = re.search(r"^PRESENT = (.*)$", (REPOSITORY / "Makefile").read_text(), re.M)[1].split()
# What runs again when one method that is not tuned changes.
OF_ONE_METHOD = {"unlearn": 2, "metrics": 1, "tables": 1, "figures": 1, "report": 1}


def results(project: Project) -> Path:
    return project.folder / "results" / "smoke"


def contents(folder: Path) -> dict[str, str]:
    """Return the hash of every file but those that hold times."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in COSTS
    }


def test_tables_figures_and_page_are_there(finished):
    folder = results(finished)
    for table in ("main", "affected"):
        for suffix in ("csv", "md", "tex"):
            assert (folder / f"tables/digit_3-50/{table}.{suffix}").stat().st_size
    for figure in ("similarity", "affected"):
        for suffix in ("pdf", "png"):
            assert (folder / f"figures/digit_3-50/{figure}.{suffix}").stat().st_size
    assert (finished.folder / "results/report.html").stat().st_size


def test_every_run_and_seed_is_in_the_metrics(finished):
    with (results(finished) / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    ua = {(row["run"], row["seed"]) for row in rows if row["metric"] == "ua"}
    runs = {run for run, _ in ua}
    on_disk = {p.parent.name for p in results(finished).glob("digit_3-50/seed-0/*/outputs.npz")}
    assert runs == on_disk
    assert {"retrain", *names("method"), *names("control")} == runs
    assert ua == {(run, seed) for run in runs for seed in ("0", "1")}


def test_no_checkpoint_is_left(finished):
    assert not [p for p in finished.folder.rglob("*.checkpoint") if p.is_file()]


def test_a_second_run_has_nothing_to_do(finished):
    done = finished.snakemake(*SMOKE)
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout + done.stderr


def test_the_same_results_come_back_from_nothing(finished, tmp_path):
    again = copy_project(tmp_path)
    assert again.snakemake(*SMOKE).returncode == 0
    assert contents(results(again)) == contents(results(finished))


def test_another_parameter_of_one_method_reruns_that_method_alone(project):
    project.edit("configs/smoke.yaml", "ga: {epochs: 2,", "ga: {epochs: 3,")
    assert project.planned(*SMOKE) == OF_ONE_METHOD


def add_sweep_and_track(project):
    project.edit(
        "configs/smoke.yaml",
        "    controls: [original, ideal]",
        "    controls: [original, ideal]\n"
        "    sweeps: {beta: {method: ltd, vary: {beta: [1, 2]}}}\n"
        "    track: [ga]",
    )


def test_one_more_sweep_adds_its_runs_and_tracking_reruns_the_tracked_alone(project):
    add_sweep_and_track(project)
    done = project.snakemake("--dry-run", *SMOKE)
    planned = set(re.findall(r"unlearn \(smoke, digit_3-50, seed (\d), (\S+)\)", done.stdout))
    assert planned == {(seed, run) for seed in "01" for run in ("ltd@beta=1", "ga")}
    before = contents(results(project))
    assert project.snakemake(*SMOKE).returncode == 0
    after = contents(results(project))
    kept = [name for name in before if "/ga/history.csv" not in name and "/seed-" in name]
    assert len(kept) > 100
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    folder = results(project)
    for seed in "01":
        # Taken from the plain run, not made again.
        assert not (folder / f"digit_3-50/seed-{seed}/ltd@beta=1/prepared").exists()
    assert (folder / "tables/digit_3-50/sweep-beta.md").stat().st_size
    for figure in ("sweep-beta-standard", "sweep-beta-teacher_epochs", "epochs"):
        assert (folder / f"figures/digit_3-50/{figure}.png").stat().st_size


def test_a_comment_reruns_nothing(project):
    project.edit(
        "workflow/collateral/methods/ga/method.py",
        "            descend(optimizer, -loss)",
        "            # uphill\n            descend(optimizer, -loss)",
    )
    project.edit(
        "workflow/collateral/training/fit.py", '"""Training from scratch:', '"""From scratch:'
    )
    done = project.snakemake("--dry-run", *SMOKE)
    assert "Nothing to be done" in done.stdout + done.stderr


def test_another_algorithm_reruns_what_depends_on_it_alone(project):
    project.edit(
        "workflow/collateral/methods/ga/method.py",
        "            descend(optimizer, -loss)",
        "            descend(optimizer, -2 * loss)",
    )
    assert project.planned(*SMOKE) == OF_ONE_METHOD


def test_figures_come_from_the_cache_without_torch_and_data(project, tmp_path):
    before = contents(results(project))
    for path in [
        *results(project).rglob("model.safetensors"),
        results(project) / "dataset.npz",
        results(project) / "metrics.csv",
        results(project) / "digit_3-50" / "metrics.csv",
    ]:
        path.unlink()
    shutil.rmtree(results(project) / "figures")
    for package in ("torch", "torchvision", "timm"):
        blocked = tmp_path / "blocked" / package
        blocked.mkdir(parents=True)
        blocked.joinpath("__init__.py").write_text("raise ImportError('not on this machine')\n")
    done = project.snakemake(
        *SMOKE, "--allowed-rules", "all", *PRESENT, "--forcerun", *PRESENT,
        path=(tmp_path / "blocked",),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    after = contents(results(project))
    gone = {name for name in before if name.endswith(("model.safetensors", "dataset.npz"))}
    assert after == {name: digest for name, digest in before.items() if name not in gone}


def test_the_workflow_report_is_written(project):
    done = project.snakemake(*SMOKE, "--report", "workflow-report.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project.folder / "workflow-report.html").stat().st_size > 10_000


@pytest.mark.parametrize(("config", "limit"), [("configs/smoke.yaml", 40), ("config.yaml", 180)])
def test_few_processes_import_torch(fresh, config, limit):
    planned = fresh.planned("--configfile", config)
    assert {"base", "retrain", "unlearn"} <= planned.keys()
    assert sum(planned.get(rule, 0) for rule in TORCH_RULES) <= limit

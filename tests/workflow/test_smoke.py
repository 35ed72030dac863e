"""The smoke experiment, run for real: what it leaves, and what a second run does."""

import csv
import hashlib
import re
import shutil
from fnmatch import fnmatch
from pathlib import Path

import pytest
from conftest import (
    AFTER_METRICS,
    AFTER_OUTPUTS,
    REPOSITORY,
    SMOKE,
    TORCH_RULES,
    Project,
    copy_project,
)
from torture import has_times

from collateral.plugins.find import CONTROL, METHOD, params_class
from collateral.warm.client import ADDRESS, OFF

pytestmark = pytest.mark.workflow
SWEPT = "ltd@beta=1"
# The rules that `make figures` considers.
PRESENT = re.search(r"^PRESENT = (.*)$", (REPOSITORY / "Makefile").read_text(), re.M)[1].split()
# What runs again when one method that is not tuned changes.
OF_ONE_METHOD = {"unlearn": 2, **dict.fromkeys(AFTER_OUTPUTS, 1)}


def results(project: Project) -> Path:
    return project.folder / "results" / "smoke"


def contents(folder: Path) -> dict[str, str]:
    """Return the hash of every file but those that hold times."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not has_times(path)
    }


def test_tables_figures_and_page_are_there(finished):
    folder = results(finished)
    for table in ("main", "affected", "sweep-beta", "trajectory"):
        for suffix in ("csv", "md", "tex"):
            assert (folder / f"tables/digit_3-50/{table}.{suffix}").stat().st_size
    # Two values are no curve: the table has them.
    assert not list((folder / "figures/digit_3-50").glob("sweep-beta-*"))
    of_support = [f"support-{kind}" for kind in ("kl", "accuracy", "drop", "retrain")]
    for figure in ("similarity", "affected", "epochs", "trajectory", *of_support):
        for suffix in ("pdf", "png"):
            assert (folder / f"figures/digit_3-50/{figure}.{suffix}").stat().st_size
    assert (folder / "report.html").stat().st_size
    index = (finished.folder / "results/report.html").read_text()
    assert 'href="smoke/report.html#cell-digit_3-50"' in index


@pytest.mark.parametrize(("kind", "suffix"), [("tables", "md"), ("figures", "png")])
def test_the_docs_name_every_table_and_figure(finished, kind, suffix):
    lines = (REPOSITORY / "docs/formats.md").read_text().splitlines()
    about = " ".join(line for line in lines if f"{kind}/<cell>/" in line)
    names = re.findall(rf"`(?:{kind}/<cell>/)?([a-z][a-z-]*(?:<name>)?(?:-?\*)?)(?:\.png)?`", about)
    patterns = [name.replace("<name>", "*") for name in names]
    made = {path.stem for path in results(finished).glob(f"{kind}/digit_3-50/*.{suffix}")}
    assert len(made) > 8
    assert [name for name in made if not any(fnmatch(name, one) for one in patterns)] == []


def test_every_run_and_seed_is_in_the_metrics(finished):
    with (results(finished) / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    ua = {(row["run"], row["seed"]) for row in rows if row["metric"] == "ua"}
    runs = {run for run, _ in ua}
    on_disk = {p.parent.name for p in results(finished).glob("digit_3-50/seed-0/*/outputs.npz")}
    assert runs == {*on_disk, "original"}  # which is the base model
    methods = {name for name in METHOD.names() if "paper" in params_class(name).published}
    controls = {name for name in CONTROL.names() if not params_class(name).made_by}
    assert {"retrain", *methods, *controls, SWEPT} == runs
    assert ua == {(run, seed) for run in runs for seed in ("0", "1")}


def test_every_support_size_is_in_the_metrics(finished):
    with (results(finished) / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["value"]]
    for name in ("support_teacher_ua", "support_kl_retrain"):
        found = {(row["at"], row["seed"]) for row in rows if row["metric"] == name}
        assert found == {(k, seed) for k in ("20", "60") for seed in ("0", "1")}


def test_another_k_of_the_runs_trains_no_teacher_of_the_support_sizes(project):
    project.edit("configs/smoke.yaml", "ltd: {k: 60,", "ltd: {k: 50,")
    planned = project.planned(*SMOKE)
    assert planned["unlearn"] > 0
    assert "support_size" not in planned


def test_no_checkpoint_is_left(finished):
    assert not [p for p in finished.folder.rglob("*.checkpoint") if p.is_file()]


def test_a_second_run_has_nothing_to_do(finished):
    done = finished.snakemake(*SMOKE)
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout + done.stderr


@pytest.mark.slow
def test_the_same_results_come_back_from_nothing_without_warm_workers(finished, tmp_path):
    again = copy_project(tmp_path)
    assert again.snakemake(*SMOKE, **{ADDRESS: OFF}).returncode == 0
    assert contents(results(again)) == contents(results(finished))


def test_another_parameter_of_one_method_reruns_that_method_alone(project):
    project.edit("configs/smoke.yaml", "ga: {epochs: 2,", "ga: {epochs: 3,")
    assert project.planned(*SMOKE) == OF_ONE_METHOD


@pytest.mark.slow
def test_one_more_sweep_adds_its_runs_and_tracking_reruns_the_tracked_alone(project):
    project.edit("configs/smoke.yaml", "vary: {beta: [1, 2]}", "vary: {beta: [1, 2, 5]}")
    project.edit("configs/smoke.yaml", "track: [ltd]", "track: [ltd, ga]")
    done = project.snakemake("--dry-run", *SMOKE)
    made = r"^ +output: \S+/seed-(\d)/([^/]+)/model\.safetensors"
    planned = set(re.findall(made, done.stdout + done.stderr, re.M))
    assert planned == {(seed, run) for seed in "01" for run in ("ltd@beta=5", "ga")}
    before = contents(results(project))
    assert project.snakemake(*SMOKE).returncode == 0
    after = contents(results(project))
    assert {name for name in after if name.endswith("/ga/epochs.npz")} > set()
    # The record has the hash of the history.
    changed = ("/ga/history.csv", "/ga/record.json")
    kept = {name for name in before if "/seed-" in name and not name.endswith(changed)}
    assert len(kept) > 50
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def test_a_run_of_a_sweep_uses_the_prepared_files_of_the_plain_run(finished):
    cell = results(finished) / "digit_3-50"
    assert (cell / "tune/ltd/prepared").is_dir()
    assert (cell / "seed-1/ltd/prepared").is_dir()
    for seed in "01":
        assert not (cell / f"seed-{seed}/{SWEPT}/prepared").exists()
    assert not (cell / "seed-0/ltd/prepared").exists()


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


@pytest.mark.slow
def test_another_algorithm_reruns_what_depends_on_it_alone(project):
    project.edit(
        "workflow/collateral/methods/ga/method.py",
        "            descend(optimizer, -loss)",
        "            descend(optimizer, -2 * loss)",
    )
    assert project.planned(*SMOKE) == OF_ONE_METHOD


@pytest.mark.slow
def test_figures_come_from_the_cache_without_torch_and_data(project, tmp_path):
    before = contents(results(project))
    for path in [
        *results(project).rglob("model.safetensors"),
        results(project) / "dataset.npz",
        results(project) / "plan.json",
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


@pytest.mark.slow
def test_another_template_makes_the_pages_again_and_nothing_else(project):
    project.edit("workflow/collateral/report/layout.html.j2", "</body>", "<hr></body>")
    assert project.planned(*SMOKE) == {"report": 1, "check": 1, "index": 1}


@pytest.mark.slow
def test_a_finding_that_raises_is_on_the_page_and_in_the_exit_code(project):
    text = "def numbers(cell):\n    raise RuntimeError('the needle is broken')\n"
    finding = project.folder / "mine/findings/needle"
    finding.mkdir(parents=True)
    (finding / "__init__.py").write_text('"""Is the needle whole?"""\n\nMETRICS = {}\n')
    (finding / "numbers.py").write_text(text)
    config = project.folder / "configs/smoke.yaml"
    config.write_text(f"plugins: [mine]\n{config.read_text()}")
    assert project.planned(*SMOKE) == dict.fromkeys(("metrics", *AFTER_METRICS), 1)
    before = (results(project) / "tables/digit_3-50/affected.md").read_text()
    done = project.snakemake(*SMOKE)
    assert done.returncode == 1
    assert "the needle is broken" in done.stdout + done.stderr
    for page in (results(project) / "report.html", project.folder / "results/report.html"):
        assert "the needle is broken" in page.read_text()
    assert (results(project) / "tables/digit_3-50/affected.md").read_text() == before


@pytest.mark.slow
def test_the_workflow_report_is_written(project):
    done = project.snakemake(*SMOKE, "--report", "workflow-report.html")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project.folder / "workflow-report.html").stat().st_size > 10_000


@pytest.mark.slow
# Of config.yaml: ten seeds of a small net and five of a ResNet, ten runs each.
@pytest.mark.parametrize(("config", "limit"), [("configs/smoke.yaml", 40), ("config.yaml", 180)])
def test_few_processes_import_torch(fresh, config, limit):
    planned = fresh.planned("--configfile", config)
    assert {"base", "retrain", "unlearn"} <= planned.keys()
    assert sum(planned.get(rule, 0) for rule in TORCH_RULES) <= limit

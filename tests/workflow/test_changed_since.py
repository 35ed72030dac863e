"""Results without Snakemake's metadata: what differs from the plan stops a run, and is named."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import AFTER_METRICS, AFTER_OUTPUTS, SMOKE, Project, job_counts

from collateral.results.provenance import read_record, read_signed, write_signed

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
RESULTS = "results/smoke"
CELL = f"{RESULTS}/digit_3-50"
# Without metadata these are made again in any case: they take seconds.
PRESENTED = {rule: 1 for rule in ("metrics", *AFTER_METRICS, "plan", "theory")}
PARAMETER = ("configs/smoke.yaml", "ga: {epochs: 2,", "ga: {epochs: 3,")
NAMED = f"{CELL}/seed-{{}}/ga/record.json"
CHANGED = "params.epochs: 2, planned 3"


def without_metadata(project: Project) -> Project:
    shutil.rmtree(project.folder / ".snakemake")
    return project


def with_another_code(project: Project, name: str) -> None:
    """Write a record as other code would have."""
    root = project.folder / RESULTS
    path = project.folder / name
    write_signed(path, {**read_signed(path), "code": "0123456789abcdef"}, root)


def delete(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def collateral(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from collateral.cli import main; main()", *words],
        cwd=project.folder, env=project.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def refused(project: Project, *options: str) -> list[str]:
    """Return the lines with which a run stops before any job."""
    done = project.snakemake(*SMOKE, *options)
    assert done.returncode == 1
    assert "rule " not in done.stdout
    said = (done.stdout + done.stderr).partition("Building DAG of jobs...\n")[2]
    return [line for line in said.splitlines() if line and not line.startswith("Using workflow")]


def forced(project: Project, *options: str) -> tuple[str, ...]:
    """Return the options that make what differs again, as the message names them."""
    done = collateral(project, "stale", "--config", SMOKE[1])
    assert done.returncode == 0, done.stderr
    return (*SMOKE, *options, "--forcerun", *done.stdout.split())


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--", f"{CELL}/metrics.csv")])
def test_a_changed_parameter_stops_a_run_which_names_it_and_what_to_type(project, options):
    project.edit(*PARAMETER)
    *lines, pages, last = refused(without_metadata(project), *options)
    assert lines == [f"{NAMED.format(seed)}: {CHANGED}" for seed in (0, 1)]
    assert re.fullmatch(
        r"\d\d metrics, tables, figures and pages of an unknown config, as .*", pages
    )
    remedy = "snakemake --configfile configs/smoke.yaml --forcerun $(collateral stale --config "
    assert last.endswith(f"; to make them again: {remedy}configs/smoke.yaml)")


def test_what_the_message_names_makes_all_of_it_again_and_nothing_else(project):
    project.edit(*PARAMETER)
    options = forced(without_metadata(project))
    assert project.planned(*options) == {**PRESENTED, "unlearn": 2, "pictures": 1}
    done = project.snakemake(*options)
    assert done.returncode == 0, done.stderr
    assert read_record(project.folder / NAMED.format(1))["params"]["epochs"] == 3
    assert forced(project)[-1] == "--forcerun"
    assert "Nothing to be done" in project.snakemake(*forced(project)).stderr


def test_what_the_message_names_has_all_configs_and_keys_of_the_run(project):
    """Typed as printed, it makes what the run would have made, and no other config's."""
    (project.folder / "more.yaml").write_text("benchmarks: {smoke: {methods: {ga: {epochs: 3}}}}")
    keys = "benchmarks={smoke: {methods: {rl: {epochs: 4}}}}"
    options = ("--configfile", SMOKE[1], "more.yaml", "--config", keys)
    without_metadata(project)
    done = project.snakemake("--dry-run", *options)
    assert done.returncode == 1
    _, _, command = (done.stdout + done.stderr).partition("; to make them again: ")
    typed = subprocess.run(
        f"{command.splitlines()[0]} --dry-run --cores 2", shell=True, cwd=project.folder,
        env=project.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert typed.returncode == 0, typed.stdout + typed.stderr
    planned = job_counts(typed.stdout + typed.stderr)
    assert planned == {**PRESENTED, "unlearn": 4, "pictures": 1}


def test_without_changes_only_pages_are_made_again(project):
    [pages, _] = refused(without_metadata(project))
    assert pages.endswith(f" of an unknown config, as {CELL}/metrics.csv")
    assert project.planned(*forced(project)) == PRESENTED
    for path in forced(project)[3:]:
        delete(project.folder / path)
    # What is as planned is kept without a word.
    assert project.planned(*SMOKE) == PRESENTED


@pytest.mark.parametrize(
    ("record", "trained"),
    [
        (NAMED.format(1), {"unlearn": 1}),
        (f"{CELL}/neighbours.json", {"neighbours": 1}),
        (f"{CELL}/split.json", {"split": 1, "retrain": 2}),
        (f"{RESULTS}/data.json", {"data": 1, "base": 2, "retrain": 2}),
    ],
)
def test_results_of_other_code_are_made_again_with_all_that_depends_on_them(
    project, record, trained
):
    with_another_code(project, record)
    planned = project.planned(*forced(without_metadata(project)))
    assert planned.items() >= {**PRESENTED, **trained}.items()
    assert ("base" in planned) == ("base" in trained)
    assert ("retrain" in planned) == ("retrain" in trained)


def test_changed_code_reruns_what_uses_it(project):
    project.edit(
        "workflow/collateral/methods/ga/method.py", "(optimizer, -loss)", "(optimizer, -2 * loss)"
    )
    planned = project.planned(*forced(without_metadata(project)))
    assert planned == {**PRESENTED, "unlearn": 2, "pictures": 1}


def test_with_metadata_snakemake_is_believed_and_no_record_is_read(project):
    # With its old time: records are inputs of the metrics, which a new one would make again.
    record = project.folder / NAMED.format(1)
    before = record.stat()
    with_another_code(project, NAMED.format(1))
    os.utime(record, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.planned(*SMOKE) == {}


def test_metadata_of_some_files_of_a_job_is_none(project):
    """As Snakemake has it, which compares nothing then."""
    project.edit(*PARAMETER)
    done = project.snakemake(*SMOKE, "--cleanup-metadata", f"{CELL}/seed-0/ga/model.safetensors")
    assert done.returncode == 0, done.stderr
    assert refused(project, "--dry-run")[:-1] == [f"{NAMED.format(0)}: {CHANGED}"]
    planned = project.planned(*forced(project))
    assert planned == {**dict.fromkeys(AFTER_OUTPUTS, 1), "unlearn": 2}


def test_a_run_that_makes_all_again_is_not_stopped(project):
    project.edit(*PARAMETER)
    assert without_metadata(project).planned(*SMOKE, "--forceall")["unlearn"] > 2


@pytest.mark.parametrize("options", [["--rerun-triggers", "mtime"], ["--mode", "remote"]])
def test_by_times_alone_and_within_a_job_of_a_cluster_nothing_is_compared(project, options):
    project.edit(*PARAMETER)
    assert without_metadata(project).planned(*SMOKE, *options) == {}


@pytest.mark.parametrize("is_known", [True, False])
def test_figures_are_not_made_of_what_differs_from_the_plan(project, is_known):
    """With metadata, too: `make figures` may not run what would have to be trained."""
    check = ("cached", "--config", "configs/smoke.yaml")
    if not is_known:
        without_metadata(project)
    assert collateral(project, *check).returncode == 0
    project.edit(*PARAMETER)
    done = collateral(project, *check)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        *(f"{NAMED.format(seed)}: {CHANGED}" for seed in (0, 1)),
        "2 differences from the plan (`make run` runs these jobs again): "
        "no table, figure or page was made",
    ]


def test_verify_compares_with_the_plan_of_a_config(project):
    verify = ("verify", "--config", "configs/smoke.yaml")
    done = collateral(project, *verify)
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == f"{RESULTS}: all as planned"
    project.edit(*PARAMETER)
    assert collateral(project, "verify").returncode == 0
    for words in (verify, ("verify", RESULTS, *verify[1:])):
        done = collateral(project, *words)
        assert done.returncode == 1
        assert f"{NAMED.format(1)}: {CHANGED}" in done.stdout.splitlines()
        assert f"{RESULTS}: not as planned: 2; a run makes these again" in done.stdout

"""The workflow on a real SLURM of one node, by the profile as users get it.

One run is disturbed: the job that trains the base is cancelled, the one that retrains is preempted.
Beside it the same runs on this machine, undisturbed.
"""

import csv
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest
from conftest import REPOSITORY, SNAKEMAKE, Project, copy_project
from test_smoke import contents

pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.slow]
CLUSTER = REPOSITORY / "envs/slurm/cluster"
CONFIG = REPOSITORY / "tests/workflow/slurm.yaml"
RESULTS = "results/slurm"
CELL = f"{RESULTS}/digit_3-50"
# Jobs of seconds: look at the queue after 3 s, not 10.
PROFILE = ("--workflow-profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "3")
PATIENCE_SECONDS = 1200
TUNED = "salun"
TRAINING = {"base": 1, "retrain": 1, "tune": 1, "unlearn": 3}
# A method that cannot work.
BROKEN = {
    "params.py": """
from typing import ClassVar
from collateral.config.params import MethodParams

class Params(MethodParams):
    label: ClassVar[str] = "Broken"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})
""",
    "method.py": """
def unlearn(model, task, params, run):
    raise RuntimeError("the needle is broken")
""",
}

Jobs = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Runs:
    """What is left of both runs, and what SLURM said of its jobs."""

    local: Project
    remote: Project
    jobs: Jobs
    cancelled: str
    preempted: str


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster that no other test uses; it is taken down unless it was up before."""
    pytest.importorskip("torch")
    if shutil.which("slurmctld") is None or os.geteuid() != 0:
        pytest.skip("needs root, and SLURM: `envs/slurm/cluster install` gets it on Debian")
    with (Path(tempfile.gettempdir()) / "collateral-slurm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        was_up = command(CLUSTER, "status").returncode == 0
        started = command(CLUSTER, "up")
        if "there is a SLURM already" in started.stderr:
            pytest.skip(started.stderr)
        assert started.returncode == 0, started.stderr
        yield
        if not was_up:
            assert command(CLUSTER, "down").returncode == 0


@pytest.fixture(scope="module")
def runs(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    local, remote = (copy_project(tmp_path_factory.mktemp(name)) for name in ("local", "remote"))
    target = (f"{RESULTS}/metrics.csv", "--configfile", str(CONFIG))
    here, there = start(local, *target), start(remote, *target, *PROFILE)
    try:
        cancelled, preempted = disturb(remote)
        codes = [process.wait(PATIENCE_SECONDS) for process in (here, there)]
    finally:
        here.kill()
        there.kill()
    assert codes == [0, 0], output_of(local) + output_of(remote)
    return Runs(local, remote, all_jobs(), cancelled, preempted)


def disturb(remote: Project) -> tuple[str, str]:
    """Cancel the job of the base and preempt that of Retrain; return their ids."""
    logs = remote.folder / "logs"
    base, retrain = logs / "base/slurm/0.log", logs / "retrain/slurm/digit_3-50/0.log"
    # With its log a training begins. Do not wait for the base's while Retrain's comes to its end.
    wait_until(lambda: base.exists() or retrain.exists())
    cancelled = running("base")
    assert command("scancel", cancelled).returncode == 0
    wait_until(retrain.exists)
    preempted = running("retrain")
    urgent = ("--partition=urgent", "--gpus=2", "--output=/dev/null", "--wrap=true")
    assert command("sbatch", *urgent).returncode == 0
    wait_until(lambda: all_jobs()[preempted]["Restarts"] == "1")
    # SLURM would let it wait for two minutes.
    assert command("scontrol", "update", f"JobId={preempted}", "StartTime=now").returncode == 0
    return cancelled, preempted


def start(project: Project, *options: str) -> subprocess.Popen[str]:
    with (project.folder / "output.txt").open("w") as output:
        return subprocess.Popen(
            [SNAKEMAKE, *options],
            cwd=project.folder,
            env=project.environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )


def output_of(project: Project) -> str:
    return (project.folder / "output.txt").read_text()


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def all_jobs() -> Jobs:
    """Return what SLURM tells of every job, by id."""
    lines = command("scontrol", "--oneliner", "show", "job").stdout.splitlines()
    found = [dict(pair.split("=", 1) for pair in line.split() if "=" in pair) for line in lines]
    return {job["JobId"]: job for job in found if "JobId" in job}


def rule_of(job: dict[str, str]) -> str:
    """Return the rule of a job; the plugin writes it into the comment."""
    return job["Comment"].removeprefix("rule_").partition("_wildcards_")[0]


def running(rule: str) -> str:
    """Return the id of the one running job of a rule."""
    (job,) = (
        job for job in all_jobs().values()
        if job["JobState"] == "RUNNING" and rule_of(job) == rule
    )  # fmt: skip
    return job["JobId"]


def costs(project: Project) -> dict[str, dict]:
    """Return what each job that trains wrote about itself, by its folder."""
    folder = project.folder / RESULTS
    found = {file.parent: json.loads(file.read_text()) for file in folder.rglob("cost.json")}
    return {
        str(place.relative_to(folder)): cost
        for place, cost in found.items()
        # `original` trains nothing, and what a job prepared is of the same job.
        if place.name != "original" and place.parent.name != "prepared"
    }


def outcome(project: Project) -> dict[str, object]:
    """Return what a run must always come to: all results but times."""
    folder = project.folder / RESULTS
    trials = f"digit_3-50/tune/{TUNED}/trials.csv"
    with (folder / trials).open() as file:
        rows = [{**row, "seconds": ""} for row in csv.DictReader(file)]
    return {**contents(folder), trials: rows}


def test_every_training_job_has_a_slurm_job_and_a_gpu_of_its_own(runs):
    found = costs(runs.remote)
    assert len(found) == sum(TRAINING.values())
    assert len({cost["job"] for cost in found.values()}) == len(found)
    assert {cost["visible_devices"] for cost in found.values()} == {"0", "1"}
    assert {runs.jobs[cost["job"]]["JobState"] for cost in found.values()} == {"COMPLETED"}


def test_gpu_jobs_never_share_a_device(runs):
    spans = [
        (cost["visible_devices"], runs.jobs[cost["job"]]["StartTime"], runs.jobs[cost["job"]])
        for cost in costs(runs.remote).values()
    ]
    for (device, begin, job), (other_device, other_begin, other) in combinations(spans, 2):
        apart = job["EndTime"] <= other_begin or other["EndTime"] <= begin
        assert apart or device != other_device, (job["JobId"], other["JobId"])


def test_only_training_is_submitted(runs):
    submitted = [rule_of(job) for job in runs.jobs.values() if "Comment" in job]
    # The cancelled job of the base was followed by another.
    assert {rule: submitted.count(rule) for rule in submitted} == {**TRAINING, "base": 2}


def test_the_results_are_those_of_a_local_run(runs):
    local, remote = (outcome(project) for project in (runs.local, runs.remote))
    assert len(local) > 30
    assert remote == local


def test_a_cancelled_job_is_submitted_again_and_finished(runs):
    assert runs.jobs[runs.cancelled]["JobState"] == "CANCELLED"
    again = costs(runs.remote)["base/seed-0"]["job"]
    assert again != runs.cancelled
    assert rule_of(runs.jobs[again]) == "base"


def test_a_preempted_job_is_requeued_and_finished(runs):
    assert runs.jobs[runs.preempted]["Restarts"] == "1"
    assert costs(runs.remote)["digit_3-50/seed-0/retrain"]["job"] == runs.preempted


def test_a_failing_job_is_retried_with_more_and_then_named_with_its_log(runs, tmp_path):
    shutil.copytree(runs.remote.folder, tmp_path / "project", symlinks=True)
    project = Project(tmp_path / "project")
    method = project.folder / "my_methods/broken"
    method.mkdir(parents=True)
    for name, code in BROKEN.items():
        (method / name).write_text(code)
    config = project.folder / "configs/broken.yaml"
    text = CONFIG.read_text().replace("    methods:\n", "    methods:\n      broken: {}\n")
    config.write_text(f"plugins: [my_methods]\n{text}")
    target = (f"{CELL}/seed-0/broken/model.safetensors", "--configfile", str(config))
    before = all_jobs()
    assert start(project, *target, *PROFILE, "--retries", "1").wait(PATIENCE_SECONDS) == 1
    tried = [job for id_, job in all_jobs().items() if id_ not in before]
    assert [job["JobState"] for job in tried] == ["FAILED", "FAILED"]
    assert sorted(job["TimeLimit"] for job in tried) == ["00:30:00", "01:00:00"]
    last_words = output_of(project).rpartition("failed: ")[2]
    assert last_words.startswith("unlearn (slurm, digit_3-50, seed 0, broken)")
    assert "log: logs/unlearn/slurm/digit_3-50/0/broken.log" in last_words
    assert "the needle is broken" in last_words


def test_a_run_that_could_not_see_its_jobs_end_does_not_start(runs):
    target = (f"{CELL}/seed-0/ft/model.safetensors", "--configfile", str(CONFIG), "--forceall")
    options = ("--slurm-status-command", "sacct")
    before = all_jobs()
    assert start(runs.remote, *target, *PROFILE, *options).wait(PATIENCE_SECONDS) == 1
    assert "accounting is off" in output_of(runs.remote)
    assert all_jobs().keys() <= before.keys()

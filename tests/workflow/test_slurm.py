"""The workflow on a real SLURM of one node, by the profile as users get it.

One run, and what may happen to it: of the two jobs that train first, one is cancelled and one is
preempted, both in the midst of training; and a method cannot work. Beside it the same experiment
on this machine, undisturbed.
"""

import json
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from conftest import REPOSITORY, SNAKEMAKE, Project, copy_project
from slurm_cluster import PATIENCE_SECONDS, Jobs, all_jobs, command, lent_cluster, wait_for
from test_smoke import contents

from collateral.jobs import read_job
from collateral.jobs._job import Job

pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.slow]
CONFIG = ("--configfile", str(REPOSITORY / "tests/workflow/slurm.yaml"))
PROFILE = ("--workflow-profile", "profiles/slurm")
METRICS = "results/slurm/metrics.csv"
HOPELESS = "results/hopeless/digit_3-50/seed-0/broken/model.safetensors"
# The jobs that train, by rule: one base and one run are the hopeless benchmark's.
TRAINING = {"base": 2, "retrain": 1, "tune": 1, "unlearn": 4}
ATTEMPTS = 3  # the profile has `retries: 2`
# The two that train first, by their folders.
DISTURBED = {
    "results/slurm/base/seed-0": "base",
    "results/slurm/digit_3-50/seed-0/retrain": "retrain",
}
# A method that cannot work.
BROKEN = {
    "params.py": """
from typing import ClassVar
from collateral.contract.params import MethodParams

class Params(MethodParams):
    label: ClassVar[str] = "Broken"
    touches: ClassVar[frozenset[str]] = frozenset({"retain"})
""",
    "method.py": """
def unlearn(model, task, params, run):
    raise RuntimeError("the needle is broken")
""",
}


@dataclass(frozen=True)
class Training:
    """A process that trains, as the system sees it."""

    process: psutil.Process
    folder: str
    job: str | None
    devices: str | None

    def has_checkpoint(self, project: Project) -> bool:
        """Tell whether it could go on from where it is."""
        folder = project.folder / self.folder.replace("results", "results/.checkpoints", 1)
        # A file whose name begins with a dot is still being written.
        return any(folder.rglob("[!.]*.checkpoint"))


@dataclass(frozen=True)
class Runs:
    """What is left of both runs, what SLURM said of its jobs, and what was seen of them."""

    local: Project
    remote: Project
    remote_code: int
    jobs: Jobs
    cancelled: Training
    preempted: Training
    seen: list[list[Training]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    pytest.importorskip("torch")
    with lent_cluster():
        yield


@pytest.fixture(scope="module")
def runs(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    local, remote = (project_in(tmp_path_factory.mktemp(name)) for name in ("local", "remote"))
    older = all_jobs()
    here = start(local, METRICS, *CONFIG)
    there = start(remote, METRICS, HOPELESS, *CONFIG, *PROFILE)
    seen: list[list[Training]] = []
    threading.Thread(target=watch, args=(there, remote, seen)).start()
    try:
        cancelled, preempted = disturb(remote)
        codes = [process.wait(PATIENCE_SECONDS) for process in (here, there)]
    finally:
        here.kill()
        there.kill()
    assert codes[0] == 0, output_of(local)
    jobs = {id_: job for id_, job in all_jobs().items() if id_ not in older}
    return Runs(local, remote, codes[1], jobs, cancelled, preempted, seen)


def project_in(folder: Path) -> Project:
    project = copy_project(folder)
    method = folder / "my_methods/broken"
    method.mkdir(parents=True)
    for name, code in BROKEN.items():
        (method / name).write_text(code)
    return project


def start(project: Project, *options: str, output: str = "output.txt") -> subprocess.Popen[str]:
    """Start snakemake; it does not outlive this process."""
    with (project.folder / output).open("w") as file:
        return subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", SNAKEMAKE, *options],
            cwd=project.folder,
            env={**project.environment(), "COLLATERAL_CHECKPOINT_SECONDS": "0.5"},
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )


def output_of(project: Project) -> str:
    return (project.folder / "output.txt").read_text()


def watch(run: subprocess.Popen[str], project: Project, seen: list[list[Training]]) -> None:
    """Look again and again at what trains, until a run is over."""
    while run.poll() is None:
        seen.append(trainings(project))
        time.sleep(0.3)


def trainings(project: Project) -> list[Training]:
    """Return the processes that train in a project, all of them at one time."""
    found = []
    for process in psutil.process_iter():
        try:
            # Another checkout may run jobs beside this one, of which the words are not ours.
            if Path(process.cwd()).samefile(project.folder) and is_training(process):
                found.append(training_of(process))
        except (psutil.Error, OSError):
            continue  # it is gone
    # To look takes a while: what ended meanwhile did not run beside what began.
    return [training for training in found if is_training(training.process)]


def is_training(process: psutil.Process) -> bool:
    """Tell whether a process trains; one that ended has no words any more."""
    try:
        return (job := described_job(process)) is not None and job.kind in TRAINING
    except psutil.Error:
        return False


def described_job(process: psutil.Process) -> Job | None:
    """Return the job that `collateral run` runs in a process, which is no shell of it."""
    words = process.cmdline()
    if "run" not in words[:-1] or not Path(words[0]).name.startswith("python"):
        return None
    text = words[words.index("run") + 1]
    return read_job(text) if text.startswith("{") else None


def training_of(process: psutil.Process) -> Training:
    described, had = described_job(process), process.environ()
    if described is None:
        raise psutil.NoSuchProcess(process.pid)
    job, devices = had.get("SLURM_JOB_ID"), had.get("CUDA_VISIBLE_DEVICES")
    return Training(process, f"results/{described.benchmark}/{described.out}", job, devices)


def disturb(remote: Project) -> tuple[Training, Training]:
    """Cancel one of two jobs while it trains, and preempt the other."""
    cancelled = wait_for(lambda: held_in_training(remote, {*DISTURBED}))
    preempted = wait_for(lambda: held_in_training(remote, {*DISTURBED} - {cancelled.folder}))
    command("scancel", cancelled.job)
    wait_for(lambda: all_jobs()[cancelled.job]["JobState"] == "CANCELLED")
    urgent = ("--partition=urgent", "--gpus=2", "--output=/dev/null", "--wrap=true")
    command("sbatch", "--wait", *urgent)
    wait_for(lambda: all_jobs()[preempted.job]["JobState"] == "PENDING")
    # SLURM would let it wait for two minutes, and with it whatever else had to make room.
    for id_, job in all_jobs().items():
        if job["JobState"] == "PENDING" and job["Restarts"] != "0":
            command("scontrol", "update", f"JobId={id_}", "StartTime=now")
    return cancelled, preempted


def held_in_training(project: Project, folders: set[str]) -> Training | None:
    """Hold a training that has left a checkpoint, if there is one yet: it cannot end meanwhile."""
    for training in trainings(project):
        if training.folder in folders and training.has_checkpoint(project):
            with suppress(psutil.NoSuchProcess):
                training.process.suspend()  # SLURM wakes what it stops
                return training
    return None


def rule_of(job: dict[str, str]) -> str:
    """Return the rule of a job; the plugin writes it into the comment."""
    return job["Comment"].removeprefix("rule_").partition("_wildcards_")[0]


def went_on(project: Project, training: Training) -> bool:
    """Tell whether the attempt that finished a training began in its midst, by its log."""
    (file,) = (project.folder / f"logs/{DISTURBED[training.folder]}/slurm").rglob("*.log")
    return bool(re.search(r"loop-1 goes on after epoch [1-9]", file.read_text()))


def costs(project: Project) -> dict[str, dict]:
    """Return what each job that trained wrote about itself, by its folder."""
    files = project.folder.glob("results/*/**/cost.json")
    found = {file.parent: json.loads(file.read_text()) for file in files}
    return {
        str(place.relative_to(project.folder)): cost
        for place, cost in found.items()
        if place.parent.name != "prepared"  # which is of the same job
    }


def test_every_training_job_has_a_slurm_job_and_a_gpu_of_its_own(runs):
    found = costs(runs.remote)
    assert len(found) == sum(TRAINING.values()) - 1  # the hopeless one
    assert len({cost["job"] for cost in found.values()}) == len(found)
    assert {runs.jobs[cost["job"]]["JobState"] for cost in found.values()} == {"COMPLETED"}
    assert {cost["visible_devices"] for cost in found.values()} == {"0", "1"}


def test_every_process_that_trained_had_a_slurm_job_and_one_gpu(runs):
    had = {training.job: training.devices for seen in runs.seen for training in seen}
    assert {job for job in runs.jobs if "Comment" in runs.jobs[job]} == had.keys()
    assert {*had.values()} == {"0", "1"}


def test_gpu_jobs_never_share_a_device(runs):
    in_use = [{training.job: training.devices for training in seen} for seen in runs.seen]
    assert max(map(len, in_use)) == 2  # they did run side by side
    for devices in in_use:
        assert len({*devices.values()}) == len(devices), devices


def test_only_training_is_submitted(runs):
    submitted = Counter(rule_of(job) for job in runs.jobs.values() if "Comment" in job)
    again = Counter({DISTURBED[runs.cancelled.folder]: 1, "unlearn": ATTEMPTS - 1})
    assert submitted == Counter(TRAINING) + again


def test_the_results_are_those_of_a_local_run(runs):
    local, remote = (contents(run.folder / "results/slurm") for run in (runs.local, runs.remote))
    assert len(local) > 30
    assert remote == local


def test_a_cancelled_job_is_submitted_again_and_finished(runs):
    assert runs.jobs[runs.cancelled.job]["JobState"] == "CANCELLED"
    assert went_on(runs.remote, runs.cancelled)
    again = costs(runs.remote)[runs.cancelled.folder]["job"]
    assert again != runs.cancelled.job
    assert runs.jobs[again]["Comment"] == runs.jobs[runs.cancelled.job]["Comment"]


def test_a_preempted_job_is_requeued_and_finished(runs):
    assert int(runs.jobs[runs.preempted.job]["Restarts"]) == 1
    assert went_on(runs.remote, runs.preempted)
    assert costs(runs.remote)[runs.preempted.folder]["job"] == runs.preempted.job


def test_a_failing_job_is_retried_with_more_and_then_named_with_its_log(runs):
    tried = [job for job in runs.jobs.values() if job["JobState"] == "FAILED"]
    assert {rule_of(job) for job in tried} == {"unlearn"}
    assert sorted(job["TimeLimit"] for job in tried) == ["00:30:00", "01:00:00", "02:00:00"]
    megabytes = sorted(int(job["MinMemoryNode"].removesuffix("M")) for job in tried)
    # 4,000 and, in three attempts, what the images, weights and batches of an mlp on digits take.
    assert 4000 < megabytes[0] < 4010
    assert megabytes == [megabytes[0] * times for times in (1, 2, 4)]
    assert runs.remote_code == 1
    before, _, last_words = output_of(runs.remote).rpartition("failed: ")
    assert last_words.startswith("unlearn (hopeless, digit_3-50, seed 0, broken)")
    assert "log: logs/unlearn/hopeless/digit_3-50/0/broken.log" in last_words
    assert "the needle is broken" in last_words
    assert before.splitlines()[-1].endswith("; 1 failed.")  # the cancelled one did not


def test_logs_are_kept(runs):
    folder = runs.remote.folder / "logs"
    for rule, count in TRAINING.items():
        assert len([*(folder / rule).rglob("*.log")]) == count
    (cancelled,) = (folder / "slurm").rglob(f"{runs.cancelled.job}.log")
    assert f"JOB {runs.cancelled.job} ON" in cancelled.read_text()
    failed = [id_ for id_, job in runs.jobs.items() if job["JobState"] == "FAILED"]
    assert all(any((folder / "slurm").rglob(f"{id_}.log")) for id_ in failed)


def test_a_run_that_could_not_see_its_jobs_end_does_not_start(runs):
    options = (METRICS, *CONFIG, *PROFILE, "--forceall", "--slurm-status-command", "sacct")
    before = all_jobs()
    assert start(runs.remote, *options, output="sacct.txt").wait(PATIENCE_SECONDS) == 1
    assert "accounting is off" in (runs.remote.folder / "sacct.txt").read_text()
    assert all_jobs().keys() <= before.keys()


def test_a_run_in_a_partition_that_is_not_there_does_not_start(runs):
    options = (METRICS, *CONFIG, *PROFILE, "--forceall")
    wrong = ("--set-resources", "base:slurm_partition=mian")
    before = all_jobs()
    process = start(runs.remote, *options, *wrong, output="partition.txt")
    assert process.wait(PATIENCE_SECONDS) == 1
    said = (runs.remote.folder / "partition.txt").read_text()
    assert "slurm_partition: no partition 'mian'; known: main, urgent; did you mean main?" in said
    assert all_jobs().keys() <= before.keys()

"""A job has its device to itself; devices are stand-ins, jobs are processes that get killed."""

import subprocess
import sys
import uuid
from types import SimpleNamespace

import pytest

from collateral.results.record import GPU_SLOTS
from collateral.training.locks import claim

torch = pytest.importorskip("torch")

from collateral.training import devices

# Takes a device, says which, and keeps it until it is told to go.
HOLD = """
import logging, sys
from collateral.training.locks import claim
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
names = sys.argv[2:]
print("took", names[claim(names, poll_seconds=0.02)], flush=True)
sys.stdin.readline()
"""
# The same, and leaves a process behind.
PARENT = HOLD.replace(
    "sys.stdin.readline()",
    "import subprocess; subprocess.Popen(['sleep', '30']); sys.stdin.readline()",
)
# Takes a device and fails if another process is at work on it.
WORK = """
import sys, time
from pathlib import Path
from collateral.training.locks import claim
folder, *names = sys.argv[1:]
busy = Path(folder) / f"busy-{claim(names, poll_seconds=0.01)}"
busy.touch(exist_ok=False)
time.sleep(0.05)
busy.unlink()
"""


class Job:
    """A process that holds a device."""

    def __init__(self, script, machine, names):
        self.machine = machine
        self.process = subprocess.Popen(
            [sys.executable, str(script), "train", *(machine + name for name in names)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def says(self):
        return self.process.stdout.readline().strip().replace(self.machine, "")

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def machine():
    """A name: other machines have other devices."""
    return uuid.uuid4().hex


@pytest.fixture
def start(machine, tmp_path):
    """Return a function that starts a job; all are killed in the end."""
    jobs = []

    def start_job(*names, code=HOLD):
        script = tmp_path / "hold"
        script.write_text(code)
        jobs.append(Job(script, machine, names))
        return jobs[-1]

    yield start_job
    for job in jobs:
        job.kill()


def test_each_job_takes_the_first_device_that_is_free(start):
    said = [start("a", "b", "c").says() for _ in range(3)]
    assert said == ["took a", "took b", "took c"]


def test_a_job_waits_for_a_device_and_says_so(start):
    first, second = start("a", "b"), start("b")
    assert (first.says(), second.says()) == ("took a", "took b")
    third = start("a", "b")
    assert third.says() == "waiting: other jobs use a, b"
    second.kill()
    assert third.says() == "took b"


def test_a_killed_job_gives_its_device_back(start):
    for _ in range(3):
        job = start("a")
        assert job.says() == "took a"
        job.kill()


def test_child_processes_of_a_killed_job_do_not_keep_its_device(start):
    parent = start("a", code=PARENT)
    assert parent.says() == "took a"
    parent.kill()
    assert start("a").says() == "took a"


def test_a_job_that_ends_gives_its_device_back(start):
    job = start("a")
    assert job.says() == "took a"
    job.process.communicate("go\n")
    assert start("a").says() == "took a"


def test_jobs_that_see_other_devices_or_another_order_agree_on_who_has_what(start):
    assert start("a", "b").says() == "took a"
    assert start("b", "a").says() == "took b"
    assert start("a").says().startswith("waiting:")


def test_many_parallel_jobs_never_share_a_device(machine, tmp_path):
    command = [sys.executable, "-c", WORK, str(tmp_path), f"{machine}a", f"{machine}b"]
    jobs = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(8)]
    assert [job.wait() for job in jobs] == [0] * 8


# Slots: several jobs on one device.

SHARE = HOLD.replace("claim(names,", "claim(names, slots=2,")


def test_jobs_that_share_fill_one_device_and_then_the_next(start):
    said = [start("a", "b", code=SHARE).says() for _ in range(4)]
    assert said == ["took a", "took a", "took b", "took b"]
    assert start("a", "b", code=SHARE).says().startswith("waiting:")


def test_a_job_that_does_not_share_waits_until_all_slots_are_free(start):
    first, second = start("a", code=SHARE), start("a", code=SHARE)
    assert (first.says(), second.says()) == ("took a", "took a")
    third = start("a")
    assert third.says() == "waiting: other jobs use a"
    second.kill()
    fourth = start("a", code=SHARE)
    assert fourth.says() == "took a"  # the job that waits keeps no slot
    first.kill()
    fourth.kill()
    assert third.says() == "took a"


def test_nobody_gets_a_slot_of_a_device_that_a_job_has_for_itself(start):
    whole = start("a")
    assert whole.says() == "took a"
    sharing = start("a", code=SHARE)
    assert sharing.says().startswith("waiting:")
    whole.kill()
    assert sharing.says() == "took a"


# The choice among torch's devices.


@pytest.fixture
def gpus(monkeypatch, machine):
    """Return a function that gives torch so many GPUs, named gpu-0, gpu-1, ..."""
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    chosen = []

    def set_gpus(count):
        devices.choose_device.cache_clear()
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
        monkeypatch.setattr(
            torch.cuda, "get_device_properties", lambda i: SimpleNamespace(uuid=f"{machine}gpu-{i}")
        )
        return chosen

    yield set_gpus
    devices.choose_device.cache_clear()


def test_without_a_gpu_a_job_computes_on_the_cpu(gpus, monkeypatch):
    gpus(0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert devices.choose_device() == torch.device("cpu")


def test_a_job_takes_the_gpu_that_others_left(gpus, start):
    assert start("gpu-0").says() == "took gpu-0"
    chosen = gpus(2)
    assert devices.choose_device() == torch.device("cuda", 1)
    assert chosen == [1]  # so that plain "cuda" means it too


def test_the_only_gpu_is_locked_too(gpus, start):
    gpus(1)
    assert devices.choose_device() == torch.device("cuda", 0)
    assert start("gpu-0").says().startswith("waiting: other jobs use gpu-0")


def test_a_job_that_chooses_a_device_twice_keeps_it(gpus):
    gpus(2)
    assert devices.choose_device() == devices.choose_device() == torch.device("cuda", 0)


def test_the_lock_of_a_gpu_in_a_slurm_job_holds_only_in_that_job(gpus, start, monkeypatch):
    gpus(1)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    assert devices.choose_device() == torch.device("cuda", 0)
    assert start("gpu-0 of job 17").says().startswith("waiting: other jobs use gpu-0 of job 17")
    assert start("gpu-0 of job 18").says() == "took gpu-0 of job 18"
    assert start("gpu-0").says() == "took gpu-0"


def test_jobs_in_one_allocation_of_several_gpus_take_one_each(gpus, start, monkeypatch):
    assert start("gpu-0 of job 17").says() == "took gpu-0 of job 17"
    gpus(4)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    assert devices.choose_device() == torch.device("cuda", 1)


def test_jobs_share_a_gpu_as_the_run_says(gpus, start, monkeypatch):
    gpus(1)
    monkeypatch.setenv(GPU_SLOTS, "2")
    assert devices.choose_device() == torch.device("cuda", 0)
    assert start("gpu-0", code=SHARE).says() == "took gpu-0"
    assert start("gpu-0", code=SHARE).says().startswith("waiting: other jobs use gpu-0")


def test_an_impossible_name_is_an_error_and_no_lock_to_wait_for():
    with pytest.raises(OSError, match="too long"):
        claim(["a" * 200])

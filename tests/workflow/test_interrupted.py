"""A run that was interrupted or killed goes on where it was, with warm workers and without."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import SMOKE, SNAKEMAKE, Project, copy_project

from collateral.warm.client import ADDRESS, OFF

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
BASE = Path("results/smoke/base/seed-0")
CHECKPOINT = Path("results/.checkpoints/smoke/base/seed-0/loop-1.checkpoint")
# A snakemake that was killed leaves its lock.
OPTIONS = ("--nolock", str(BASE / "model.safetensors"), *SMOKE)
PATIENCE_SECONDS = 120
WORKERS = {"warm": {}, "plain": {ADDRESS: OFF}}


def checkout(folder: Path) -> Project:
    """Return a checkout whose base model trains long enough to be interrupted."""
    project = copy_project(folder)
    project.edit("configs/smoke.yaml", "base: {epochs: 8,", "base: {epochs: 24,")
    return project


def results(project: Project) -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in (project.folder / BASE).iterdir()}
    assert files.pop("cost.json")
    return files


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, bytes]:
    pytest.importorskip("torch")
    project = checkout(tmp_path_factory.mktemp("undisturbed"))
    done = project.snakemake(*OPTIONS)
    assert done.returncode == 0, done.stdout + done.stderr
    return results(project)


def start(project: Project, variables: dict[str, str]) -> subprocess.Popen:
    """Start a run in a process group of its own, as a terminal does."""
    return subprocess.Popen(
        [SNAKEMAKE, "--cores", "2", *OPTIONS],
        cwd=project.folder,
        env={**project.environment(), "COLLATERAL_CHECKPOINT_SECONDS": "0", **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A test run in the background ignores Ctrl-C, and so would all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def processes_in(folder: Path) -> dict[int, str]:
    """Return the processes at work in a folder, with their command lines."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "cwd").readlink() == folder:
                found[int(path.name)] = (path / "cmdline").read_text()
        except OSError:
            continue
    return found


def wait_until(condition) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("workers", WORKERS)
def test_a_terminated_run_resumes_to_the_same_bits(tmp_path, undisturbed, workers):
    project = checkout(tmp_path)
    checkpoint, seen = project.folder / CHECKPOINT, 0
    for number in (signal.SIGINT, signal.SIGKILL):
        run = start(project, WORKERS[workers])
        wait_until(lambda: checkpoint.exists() and checkpoint.stat().st_mtime_ns != seen)  # noqa: B023
        commands = processes_in(project.folder).values()
        assert any("collateral.warm.server" in words for words in commands) == (workers == "warm")
        os.killpg(run.pid, number)
        assert run.wait(PATIENCE_SECONDS) != 0
        wait_until(lambda: not processes_in(project.folder))
        seen = checkpoint.stat().st_mtime_ns
    assert not (project.folder / BASE / "model.safetensors").exists()
    done = project.snakemake(*OPTIONS, **WORKERS[workers])
    assert done.returncode == 0, done.stdout + done.stderr
    assert results(project) == undisturbed

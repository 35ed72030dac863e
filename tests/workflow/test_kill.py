"""The whole tree killed in the middle of a run: the same command goes on to the end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SMOKE, SNAKEMAKE, Project

pytestmark = [pytest.mark.workflow, pytest.mark.slow]
COMMAND = [SNAKEMAKE, "--cores", "2", *SMOKE]
COLLATERAL = str(Path(sys.executable).with_name("collateral"))


def start(project: Project) -> subprocess.Popen[str]:
    return subprocess.Popen(
        COMMAND, cwd=project.folder, env=project.environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip


def run(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=project.folder, env=project.environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def wait_for(project: Project, pattern: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while not [*project.folder.glob(pattern)]:
        assert process.poll() is None, f"it ended before there was any {pattern}"
        assert time.monotonic() < deadline, f"no {pattern}"
        time.sleep(0.1)


def tree(pid: int) -> list[int]:
    """Return a process and all that it has started, those in sessions of their own too."""
    children = [
        int(p) for f in Path(f"/proc/{pid}/task").glob("*/children") for p in f.read_text().split()
    ]
    return [pid, *(found for child in children for found in tree(child))]


def kill(process: subprocess.Popen[str]) -> None:
    """Kill snakemake, its jobs and the warm server, and leave none of them time for a word."""
    processes = tree(process.pid)
    assert len(processes) > 2
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
    process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc names all processes of a run")
def test_after_a_kill_of_the_whole_tree_the_same_command_goes_on(fresh):
    pytest.importorskip("torch")
    process = start(fresh)
    wait_for(fresh, "results/smoke/base/seed-0/model.safetensors", process)
    held = run(fresh, COLLATERAL, "unlock")
    assert "locked by a run that is going on" in held.stdout
    kill(process)
    assert [*fresh.folder.glob(".snakemake/locks/*")]
    refused = run(fresh, *COMMAND)
    assert refused.returncode == 1
    assert "cannot be locked" in refused.stderr
    freed = run(fresh, COLLATERAL, "unlock")
    assert freed.returncode == 0, freed.stderr
    assert freed.stdout.count("\n") == 1
    assert "the lock of a run that was killed is removed" in freed.stdout
    done = run(fresh, *COMMAND)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (fresh.folder / "results/report.html").is_file()

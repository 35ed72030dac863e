"""The one-node cluster of envs/slurm, lent to a test; and what SLURM says of its jobs."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from conftest import REPOSITORY

CLUSTER = REPOSITORY / "envs/slurm/cluster"
DAEMONS = ("munged", "slurmctld", "slurmd")
PATIENCE_SECONDS = 1200
Jobs = dict[str, dict[str, str]]
Found = TypeVar("Found")


def needs_slurm() -> None:
    """Skip a test where the cluster cannot be."""
    if not all(map(shutil.which, DAEMONS)):
        pytest.skip("needs SLURM: `envs/slurm/cluster install` gets it on Debian")
    if os.geteuid() != 0:
        pytest.skip("needs root: only root can bring up a SLURM")


@contextmanager
def lent_cluster() -> Iterator[subprocess.Popen[str]]:
    """Have the cluster to oneself. It goes down in the end, also if this process is killed."""
    needs_slurm()
    lender = subprocess.Popen(
        [CLUSTER, "lend"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # Ctrl-C is for the test
    )
    words = []
    while (line := lender.stdout.readline()) != "it is up\n":
        words.append(line)
        if not line:
            said = "".join(words)
            (pytest.skip if "there is a SLURM already" in said else pytest.fail)(said)
    try:
        yield lender
    finally:
        lender.stdin.close()
        assert lender.wait(timeout=120) == 0, lender.stdout.read()


def command(*words: str | Path) -> str:
    """Run a command that must succeed; return its output."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_for(find: Callable[[], Found | None]) -> Found:
    """Ask again and again until there is an answer."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := find()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return found


def all_jobs() -> Jobs:
    """Return what SLURM tells of every job, by id."""
    lines = command("scontrol", "--oneliner", "show", "job").splitlines()
    found = [dict(pair.split("=", 1) for pair in line.split() if "=" in pair) for line in lines]
    return {job["JobId"]: job for job in found if "JobId" in job}

"""envs/slurm/cluster: what it starts it stops, however badly things went, and nothing else."""

import fcntl
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from slurm_cluster import CLUSTER, DAEMONS, command, lent_cluster, needs_slurm, wait_for

pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.slow]
BASE = Path("/run/collateral-slurm")
CONFIG = Path("/etc/slurm/slurm.conf")
SLEEP = "86399"  # seconds, and known by them


def daemon_ids() -> list[int]:
    return [int((BASE / f"{daemon}.pid").read_text()) for daemon in DAEMONS]


def alive(ids: list[int]) -> list[int]:
    """Return those processes that run; one that nobody reaped does not."""
    found = [psutil.Process(id_) for id_ in ids if psutil.pid_exists(id_)]
    return [process.pid for process in found if process.status() != psutil.STATUS_ZOMBIE]


def sleepers() -> list[int]:
    """Return the processes of the job that sleeps."""
    found = {process.pid: process.info["cmdline"] for process in psutil.process_iter(["cmdline"])}
    return [id_ for id_, words in found.items() if words and SLEEP in words]


@pytest.fixture
def before() -> set[Path]:
    """What is in /etc/slurm while no cluster is up; another test's is waited for."""
    needs_slurm()
    folder = os.open(CONFIG.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    os.close(folder)
    if BASE.exists():
        pytest.skip("the cluster is up: `envs/slurm/cluster down` takes it down")
    if CONFIG.exists():
        pytest.skip("this machine has a SLURM of its own")
    return {*CONFIG.parent.iterdir()}


def test_the_cluster_starts_and_stops_and_leaves_nothing(before):
    with lent_cluster() as lender:
        ids = daemon_ids()
        assert alive(ids) == ids
        command(CLUSTER, "up")
        assert daemon_ids() == ids  # it was up already
        command("sbatch", "--output=/dev/null", f"--wrap=srun sleep {SLEEP}")
        wait_for(sleepers)
        refused = subprocess.run([CLUSTER, "down"], capture_output=True, text=True, check=False)
        assert "a test has it" in refused.stderr
        os.kill(ids[1], signal.SIGKILL)  # the controller: nobody is left to end the job
        assert subprocess.run([CLUSTER, "status"], check=False).returncode != 0
    assert lender.returncode == 0
    assert alive([*ids, *sleepers()]) == []
    assert not BASE.exists()
    assert {*CONFIG.parent.iterdir()} == before
    command(CLUSTER, "down")  # it is down already


def test_the_slurm_cluster_stops_when_the_test_that_borrowed_it_is_killed(before):
    with subprocess.Popen(["sleep", SLEEP], stdout=subprocess.PIPE) as test:
        lender = subprocess.Popen(
            [CLUSTER, "lend"], stdin=test.stdout, stdout=subprocess.PIPE, text=True
        )
        assert lender.stdout.readline() == "it is up\n"
        ids = daemon_ids()
        test.kill()
    assert lender.wait(timeout=120) == 0
    assert alive(ids) == []
    assert not BASE.exists()


def test_the_slurm_cluster_stops_when_its_test_is_killed_during_start(before):
    lender = subprocess.Popen([CLUSTER, "lend"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_for(CONFIG.exists)
    lender.stdout.close()
    lender.stdin.close()
    assert lender.wait(timeout=120) == 0
    assert not BASE.exists()
    assert not CONFIG.exists()


def test_a_slurm_with_its_configuration_elsewhere_is_not_touched(before, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", "/etc/theirs/slurm.conf")
    done = subprocess.run([CLUSTER, "up"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is a SLURM already" in done.stderr
    assert not BASE.exists()


def test_a_slurm_that_we_did_not_start_is_not_touched(before):
    CONFIG.write_text("ClusterName=theirs\n")
    try:
        for word in ("up", "lend"):
            done = subprocess.run([CLUSTER, word], capture_output=True, text=True, check=False)
            assert done.returncode == 1
            assert "there is a SLURM already" in done.stderr
        command(CLUSTER, "down")
        assert CONFIG.read_text() == "ClusterName=theirs\n"
    finally:
        CONFIG.unlink()
    assert not BASE.exists()

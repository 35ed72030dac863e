"""Real jobs forked from a warm server: the memory they count, and what they do when they are ended.

What they do when they are plain is in test_checkpoints.py.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch")

from workshop import Workshop

from collateral.cli import main
from collateral.plan.warm import start
from collateral.warm import ADDRESS, OFF

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 120
EPOCHS = 100
CLIENT = [sys.executable, "-c", "from collateral.warm.client import main; main()"]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen]:
    with start(tempfile.mkdtemp()) as process:
        yield process
        process.stdin.close()


def client(folder: str, words: list[str]) -> subprocess.Popen:
    return subprocess.Popen([*CLIENT, *words], env={**os.environ, ADDRESS: folder})


def test_a_jobs_memory_is_that_of_a_plain_one_whatever_ran_before(workshop, server):
    warm = server.args[-1]
    assert client(warm, ["tune", "--help"]).wait() == 0
    for name, folder in (("warm", warm), ("plain", OFF)):
        # By a shell: what pytest itself starts has pytest's own peak for its least.
        command = shlex.join([*CLIENT, *workshop.train(name, epochs=2)])
        environment = {**os.environ, ADDRESS: folder}
        subprocess.run(["sh", "-c", f"{command}; exit $?"], env=environment, check=True)
    assert workshop.results("warm") == workshop.results("plain")
    assert peak_mb(workshop, "warm") == pytest.approx(peak_mb(workshop, "plain"), rel=0.05)


def peak_mb(workshop: Workshop, name: str) -> float:
    return json.loads((workshop.folder / name / "cost.json").read_text())["peak_rss_mb"]


@pytest.fixture(scope="module")
def undisturbed(workshop) -> dict[str, bytes]:
    main(workshop.train("undisturbed", EPOCHS))
    return workshop.results("undisturbed")


def training(workshop: Workshop, server: subprocess.Popen, name: str) -> subprocess.Popen:
    """Return a job that has written its first checkpoint."""
    job = client(server.args[-1], workshop.train(name, EPOCHS))
    latest = workshop.checkpoints(name) / "loop-1.checkpoint"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not latest.exists():
        assert job.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return job


def finished(workshop: Workshop, name: str) -> dict[str, bytes]:
    """Return the results of a job that was ended, when it is started again."""
    assert not (workshop.folder / name / "model.safetensors").exists()
    main(workshop.train(name, EPOCHS))
    return workshop.results(name)


ENDS = {
    signal.SIGKILL: -signal.SIGKILL,
    signal.SIGTERM: 128 + signal.SIGTERM,
    signal.SIGINT: -signal.SIGINT,
}


@pytest.mark.parametrize("number", ENDS)
def test_a_job_that_was_ended_goes_on_to_the_same_bits(workshop, server, undisturbed, number):
    job = training(workshop, server, number.name)
    job.send_signal(number)
    assert job.wait(PATIENCE_SECONDS) == ENDS[number]
    assert finished(workshop, number.name) == undisturbed


def test_a_job_whose_run_is_gone_goes_on_to_the_same_bits(workshop, undisturbed):
    with start(tempfile.mkdtemp()) as server:
        job = training(workshop, server, "deserted")
        server.stdin.close()
        assert job.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    assert finished(workshop, "deserted") == undisturbed

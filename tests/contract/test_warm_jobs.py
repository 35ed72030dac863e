"""Real jobs forked from a warm server: their results, their memory, and how they end.

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
from collateral.plan.run_hooks import start_server
from collateral.warm.client import ADDRESS, OFF

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 120
EPOCHS = 100
CLIENT = [sys.executable, "-c", "from collateral.warm.client import main; main()"]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen]:
    with start_server(tempfile.mkdtemp()) as process:
        yield process
        process.stdin.close()


def client(folder: str, words: list[str]) -> subprocess.Popen:
    return subprocess.Popen([*CLIENT, *words], env={**os.environ, ADDRESS: folder})


def test_a_forked_job_has_the_results_of_a_plain_one_and_is_recorded_as_forked(workshop, server):
    warm = server.args[-1]
    for name, folder in (("warm", warm), ("plain", OFF)):
        # By a shell: what pytest itself starts has pytest's own peak for its least.
        command = shlex.join([*CLIENT, *workshop.train(name, epochs=2)])
        environment = {**os.environ, ADDRESS: folder}
        subprocess.run(["sh", "-c", f"{command}; exit $?"], env=environment, check=True)
    assert workshop.results("warm") == workshop.results("plain")
    warm, plain = (cost(workshop, name) for name in ("warm", "plain"))
    assert (warm["is_forked"], plain["is_forked"]) == (True, False)
    assert 0 < warm["peak_rss_mb"] < plain["peak_rss_mb"]


def test_a_jobs_memory_does_not_depend_on_the_jobs_before_it(workshop, server):
    peaks = []
    for before in (["list", "methods"], ["tune", "--help"]):
        assert client(server.args[-1], before).wait() == 0
        assert client(server.args[-1], workshop.train("again", epochs=2)).wait() == 0
        peaks.append(cost(workshop, "again")["peak_rss_mb"])
    assert peaks[0] == pytest.approx(peaks[1], rel=0.02)


def cost(workshop: Workshop, name: str) -> dict:
    return json.loads((workshop.folder / name / "cost.json").read_text())


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
def test_a_terminated_job_resumes_to_the_same_bits(workshop, server, undisturbed, number):
    job = training(workshop, server, number.name)
    job.send_signal(number)
    assert job.wait(PATIENCE_SECONDS) == ENDS[number]
    assert finished(workshop, number.name) == undisturbed


def test_a_job_resumes_to_the_same_bits_after_its_run_was_killed(workshop, undisturbed):
    with start_server(tempfile.mkdtemp()) as server:
        job = training(workshop, server, "deserted")
        server.stdin.close()
        assert job.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    assert finished(workshop, "deserted") == undisturbed

"""Real jobs forked from a warm server: their results, their memory, and how they end.

What they do when they are plain is in test_checkpoints.py.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from workshop import MODEL, NEVER_ALIKE, Workshop, saving_always

from collateral.cli import main
from collateral.jobs.base import BaseJob
from collateral.plan.run_hooks import start_server
from collateral.warm.client import ADDRESS, OFF

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 120
EPOCHS = 100
SECONDS = "COLLATERAL_CHECKPOINT_SECONDS"  # 0: a checkpoint after every epoch
CLIENT = [sys.executable, "-c", "from collateral.warm.client import main; main()"]


class Base:
    """Training of a base model by the command that rules call, in a folder of results by name."""

    def __init__(self, workshop: Workshop, name: str, epochs: int) -> None:
        """Copy the data set into the folder."""
        self.results = workshop.folder / "results" / name
        params = {"epochs": epochs, "batch_size": 32}
        self.job = BaseJob(benchmark="b", model=MODEL, seed=0, params=params)
        (self.results / "b").mkdir(parents=True, exist_ok=True)
        for file in ("dataset.npz", "labels.npz", "data.json"):
            shutil.copy2(workshop.folder / file, self.results / "b" / file)

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        return ["run", self.job.text(), "--results", str(self.results)]

    @property
    def out(self) -> Path:
        """The folder of the model."""
        return self.results / "b" / self.job.out

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the training loop."""
        return self.results / ".checkpoints/b" / self.job.out / "loop-1.checkpoint"

    def files(self) -> dict[str, bytes]:
        """Return the files that must be alike, by name."""
        files = {path.name: path.read_bytes() for path in self.out.iterdir()}
        assert files.keys() > NEVER_ALIKE
        return {name: content for name, content in files.items() if name not in NEVER_ALIKE}

    def cost(self) -> dict:
        return json.loads((self.out / "cost.json").read_text())


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen]:
    with start_server(tempfile.mkdtemp()) as process:
        yield process
        process.stdin.close()


def client(folder: str, words: list[str]) -> subprocess.Popen:
    return subprocess.Popen([*CLIENT, *words], env={**os.environ, ADDRESS: folder, SECONDS: "0"})


def test_a_forked_job_has_the_results_of_a_plain_one_and_is_recorded_as_forked(workshop, server):
    warm, plain = (Base(workshop, name, epochs=2) for name in ("warm", "plain"))
    for base, folder in ((warm, server.args[-1]), (plain, OFF)):
        # By a shell: what pytest itself starts has pytest's own peak for its least.
        command = shlex.join([*CLIENT, *base.words])
        environment = {**os.environ, ADDRESS: folder}
        subprocess.run(["sh", "-c", f"{command}; exit $?"], env=environment, check=True)
    assert warm.files() == plain.files()
    assert (warm.cost()["is_forked"], plain.cost()["is_forked"]) == (True, False)
    assert 0 < warm.cost()["peak_rss_mb"] < plain.cost()["peak_rss_mb"]


def test_a_jobs_memory_does_not_depend_on_the_jobs_before_it(workshop, server):
    peaks, again = [], Base(workshop, "again", epochs=2)
    for before in (["list", "methods"], ["estimate", "--help"]):
        assert client(server.args[-1], before).wait() == 0
        assert client(server.args[-1], again.words).wait() == 0
        peaks.append(again.cost()["peak_rss_mb"])
    assert peaks[0] == pytest.approx(peaks[1], rel=0.02)


@pytest.fixture(scope="module")
def undisturbed(workshop) -> dict[str, bytes]:
    base = Base(workshop, "undisturbed", EPOCHS)
    with saving_always():
        main(base.words)
    return base.files()


def training(base: Base, server: subprocess.Popen) -> subprocess.Popen:
    """Return a job that has written its first checkpoint."""
    job = client(server.args[-1], base.words)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not base.checkpoint.exists():
        assert job.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return job


def finished(base: Base) -> dict[str, bytes]:
    """Return the results of a job that was ended, when it is started again."""
    assert not (base.out / "model.safetensors").exists()
    with saving_always():
        main(base.words)
    return base.files()


ENDS = {
    signal.SIGKILL: -signal.SIGKILL,
    signal.SIGTERM: 128 + signal.SIGTERM,
    signal.SIGINT: -signal.SIGINT,
}


@pytest.mark.parametrize("number", ENDS)
def test_a_terminated_job_resumes_to_the_same_bits(workshop, server, undisturbed, number):
    base = Base(workshop, number.name, EPOCHS)
    job = training(base, server)
    job.send_signal(number)
    assert job.wait(PATIENCE_SECONDS) == ENDS[number]
    assert finished(base) == undisturbed


def test_a_job_resumes_to_the_same_bits_after_its_run_was_killed(workshop, undisturbed):
    base = Base(workshop, "deserted", EPOCHS)
    with start_server(tempfile.mkdtemp()) as server:
        job = training(base, server)
        server.stdin.close()
        assert job.wait(PATIENCE_SECONDS) == 128 + signal.SIGTERM
    assert finished(base) == undisturbed

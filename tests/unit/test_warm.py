"""Jobs forked from a warm server: as if each had been started by itself."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collateral.plan.warm import new_address, start
from collateral.warm import ADDRESS

# A stand-in for the stages: what a job does is its first word.
PROGRAM = """
import os, signal, sys, time
from collateral import cli
from collateral.warm import server

def job():
    word, *more = sys.argv[1:]
    if word == "tell":
        print(*more, os.getcwd(), os.environ["MINE"], "COLLATERAL_WARM" in os.environ)
        print(sys.stdin.read(), file=sys.stderr)
    elif word == "exit":
        sys.exit(int(more[0]) if more[0].isdecimal() else more[0])
    elif word == "raise":
        raise KeyError("lost")
    elif word == "wait":
        def leave(number, frame):
            print("told", number, flush=True)
            sys.exit(40 + number)
        for number in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, leave)
        print(os.getpid(), flush=True)
        time.sleep(60)

cli.main = job
server.main()
"""
CLIENT = [sys.executable, "-c", "from collateral.warm.client import main; main()"]


@pytest.fixture
def server() -> Iterator[subprocess.Popen]:
    address = new_address()
    with start(address, [sys.executable, "-c", PROGRAM]) as process:
        yield process
        if not process.stdin.closed:
            process.stdin.close()
    shutil.rmtree(address.parent, ignore_errors=True)  # left by one that was killed


def client(server: subprocess.Popen, *words: str, **options) -> subprocess.Popen:
    environment = {**os.environ, ADDRESS: server.args[-1], "MINE": "of the job"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*CLIENT, *words], env=environment, text=True, **pipes, **options)


def waiting(server: subprocess.Popen) -> tuple[subprocess.Popen, int]:
    """Return the client of a job that waits, and the job's process."""
    started = client(server, "wait")
    return started, int(started.stdout.readline())


def is_gone(process: int) -> bool:
    for _ in range(100):
        if not Path(f"/proc/{process}").exists():
            return True
        time.sleep(0.05)
    return False


def test_a_job_has_its_own_words_folder_environment_and_files(server, tmp_path):
    job = client(server, "tell", "a b", cwd=tmp_path)
    said, noise = job.communicate("from outside")
    assert said == f"a b {tmp_path} of the job False\n"
    assert noise == "from outside\n"
    assert job.returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "noise"),
    [
        (("exit", "0"), 0, ""),
        (("exit", "3"), 3, ""),
        (("exit", "collateral: no"), 1, "collateral: no\n"),
        (("raise",), 1, "KeyError: 'lost'\n"),
    ],
)
def test_a_job_ends_as_it_would_by_itself(server, words, code, noise):
    job = client(server, *words)
    assert job.communicate()[1].endswith(noise)
    assert job.returncode == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_reaches_the_job(server, number):
    job, _ = waiting(server)
    job.send_signal(number)
    assert job.communicate()[0] == f"told {number}\n"
    assert job.returncode == 40 + number


def test_ctrl_c_interrupts_the_job(server):
    job, process = waiting(server)
    job.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in job.communicate()[1]
    assert job.returncode != 0
    assert is_gone(process)


def test_a_job_that_is_killed_takes_its_client_with_it(server):
    job, process = waiting(server)
    os.kill(process, signal.SIGKILL)
    assert job.wait() == -signal.SIGKILL


def test_a_client_that_is_killed_takes_its_job_with_it(server):
    job, process = waiting(server)
    job.kill()
    assert is_gone(process)
    assert client(server, "exit", "5").wait() == 5  # the server lives on


def test_jobs_are_side_by_side(server):
    jobs = [waiting(server) for _ in range(3)]
    assert len({process for _, process in jobs}) == 3
    for job, _ in jobs:
        job.terminate()
    assert [job.wait() for job, _ in jobs] == [40 + signal.SIGTERM] * 3


def test_the_server_goes_with_the_run_and_tells_its_jobs(server):
    address = Path(server.args[-1])
    job, process = waiting(server)
    server.stdin.close()
    assert server.wait(timeout=10) == 0
    assert not address.parent.exists()
    assert is_gone(process)
    assert job.communicate()[0] == f"told {signal.SIGTERM}\n"


def test_a_server_that_is_killed_takes_its_jobs_with_it(server):
    job, process = waiting(server)
    server.kill()
    assert "the warm server of this run is gone" in job.communicate()[1]
    assert job.returncode == 1
    assert is_gone(process)


def test_nobody_else_may_talk_to_the_server(server):
    assert Path(server.args[-1]).parent.stat().st_mode & 0o777 == 0o700


def test_without_a_server_the_stage_runs_where_it_is_called(tmp_path):
    environment = {**os.environ, ADDRESS: str(tmp_path / "nobody")}
    words = [*CLIENT, "list", "methods", "ft"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ft\n")


def test_a_stage_is_imported_once_and_a_broken_one_by_its_job():
    program = (
        "import sys; from collateral.warm.server import warm_up;"
        "warm_up(['collateral', 'list']); print('collateral.stages.list' in sys.modules);"
        "warm_up(['collateral']); warm_up(['collateral', 'nonsense'])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "True\n"

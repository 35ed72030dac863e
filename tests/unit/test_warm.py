"""Jobs forked from a warm server: as if each had been started by itself."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collateral.plan import run_hooks
from collateral.plan.run_hooks import keep_warm, start_server
from collateral.warm import client as warm_client
from collateral.warm.client import ADDRESS, OFF
from collateral.warm.server import TRAINING

# A stand-in for the stages: what a job does is its first word.
PROGRAM = """
import os, signal, sys, time
from collateral import cli
from collateral.warm import server
from collateral.results.job_text import job_kind

def job():
    word, more = job_kind(sys.argv[1:]), sys.argv[3:]
    if word == "tell":
        print(*more, os.getcwd(), os.environ["MINE"], "COLLATERAL_WARM" in os.environ)
        print(sys.stdin.read(), file=sys.stderr)
    elif word == "exit":
        sys.exit(int(more[0]) if more[0].isdecimal() else more[0])
    elif word == "raise":
        raise KeyError("lost")
    elif word in ("train", "show"):
        print(os.getppid())
    elif word == "wait":
        def leave(number, frame):
            time.sleep(float(more[0]))  # to save what it has
            print("told", number, flush=True)
            sys.exit(40 + number)
        for number in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, leave)
        print(os.getpid(), flush=True)
        time.sleep(60)

cli.main = job
kinds = ("tell", "exit", "raise", "wait", "train", "show")
server.stages_of_kinds = lambda: {kind: kind for kind in kinds}
server.TRAINING = ("wait", "train")
server.main()
"""
PATIENCE_SECONDS = 30
CLIENT = [sys.executable, "-c", "from collateral.warm.client import main; main()"]


@pytest.fixture
def server() -> Iterator[subprocess.Popen]:
    folder = tempfile.mkdtemp()
    with start_server(folder, [sys.executable, "-c", PROGRAM]) as process:
        yield process
        if not process.stdin.closed:
            process.stdin.close()
    shutil.rmtree(folder, ignore_errors=True)  # left by one that was killed


def client(server: subprocess.Popen, kind: str, *words: str, **options) -> subprocess.Popen:
    environment = {**os.environ, ADDRESS: server.args[-1], "MINE": "of the job"}
    job = ["run", f'{{"kind": "{kind}"}}']
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*CLIENT, *job, *words], env=environment, text=True, **pipes, **options)


def waiting(server: subprocess.Popen, saving: float = 0) -> tuple[subprocess.Popen, int]:
    """Return the client of a job that waits, and the job's process."""
    started = client(server, "wait", str(saving))
    return started, int(started.stdout.readline())


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def is_gone(process: int) -> bool:
    return comes(lambda: not Path(f"/proc/{process}").exists())


def is_in_state(process: int, letter: str) -> bool:
    status = Path(f"/proc/{process}/stat")
    return comes(lambda: status.read_text().rpartition(")")[2].split()[0] == letter)


def comes(condition) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


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


def test_ctrl_c_interrupts_the_job_and_ends_it_as_it_ends_python(server):
    job, process = waiting(server)
    job.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in job.communicate()[1]
    assert job.returncode == -signal.SIGINT
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


@pytest.mark.parametrize("then", [signal.SIGTERM, signal.SIGKILL])
def test_a_client_may_be_told_or_killed_while_its_job_ends(server, then):
    job, process = waiting(server)
    other, _ = waiting(server)
    at_work = parent_of(process)
    os.kill(at_work, signal.SIGSTOP)  # so that it hears of both at once
    assert is_in_state(at_work, "T")
    os.kill(process, signal.SIGKILL)
    assert is_in_state(process, "Z")
    job.send_signal(then)
    time.sleep(0.5)  # the client's word is on its way, or the client gone
    os.kill(at_work, signal.SIGCONT)
    assert job.wait() == -signal.SIGKILL
    other.terminate()
    assert other.wait() == 40 + signal.SIGTERM


@pytest.mark.parametrize("sent", [b"", b"\0", b"\0\0\0\x20", b"\0\0\0\x201\0exit"])
def test_a_client_that_is_killed_before_it_has_asked_starts_nothing(server, sent):
    assert client(server, "exit", "5").wait() == 5
    with socket.socket(socket.AF_UNIX) as killed:
        killed.connect(f"{server.args[-1]}/exit")
        if sent:
            socket.send_fds(killed, [sent], [0, 1, 2])
    assert client(server, "exit", "5").wait() == 5


def test_jobs_are_side_by_side(server):
    jobs = [waiting(server) for _ in range(3)]
    assert len({process for _, process in jobs}) == 3
    for job, _ in jobs:
        job.terminate()
    assert [job.wait() for job, _ in jobs] == [40 + signal.SIGTERM] * 3


def test_stages_that_train_have_one_server_and_all_others_another(server):
    wait, again = (parent_of(waiting(server)[1]) for _ in range(2))
    train, show = (int(client(server, stage).communicate()[0]) for stage in ("train", "show"))
    assert wait == again == train != show
    assert parent_of(train) == parent_of(show) == server.pid


def test_the_server_goes_with_the_run_and_gives_its_jobs_time_to_save(server):
    folder = Path(server.args[-1])
    job, process = waiting(server, saving=1)
    server.stdin.close()
    assert server.wait(timeout=10) == 0
    assert not folder.exists()
    assert job.communicate()[0] == f"told {signal.SIGTERM}\n"
    assert job.returncode == 40 + signal.SIGTERM
    assert is_gone(process)


def test_a_server_that_is_killed_takes_its_jobs_with_it_and_the_next_run_where_they_are(server):
    for stage in ("train", "show"):
        assert client(server, stage).wait() == 0  # their servers are there before
    job, process = waiting(server)
    os.kill(parent_of(process), signal.SIGKILL)
    assert job.wait(PATIENCE_SECONDS) == 1
    assert is_gone(process)
    assert "its warm server is gone" in job.communicate()[1]
    refused = client(server, "wait", "0")
    noise = refused.communicate(timeout=PATIENCE_SECONDS)[1]
    assert "usage: collateral run" in noise  # of the package's own command


@pytest.mark.parametrize("has_read", [True, False])
def test_a_server_that_is_killed_before_it_reads_a_request_is_named(monkeypatch, capfd, has_read):
    """What the client then gets is ECONNRESET, or EPIPE, and no exit code."""
    monkeypatch.setattr(warm_client, "FORWARDED", ())
    ours, theirs = socket.socketpair()
    if has_read:
        closing = threading.Timer(0.2, theirs.close)  # with bytes that nobody has read
        closing.start()
    else:
        theirs.close()
    assert warm_client.run_remotely(ours) == 1
    assert "its warm server is gone" in capfd.readouterr().err
    ours.close()


def test_nobody_else_may_talk_to_the_server(server):
    assert Path(server.args[-1]).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("folder", ["nobody", OFF])
def test_without_a_server_the_stage_runs_where_it_is_called(tmp_path, folder):
    environment = {**os.environ, ADDRESS: str(tmp_path / folder)}
    words = [*CLIENT, "list", "methods", "ft"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ft\n")


def test_torch_is_imported_before_the_stages_that_need_it():
    program = """
import sys
from importlib import import_module
from collateral.plugins.find import STAGE
class Refuse:
    def find_spec(name, *rest):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refuse)
for stage in STAGE.names():
    try:
        import_module(f"collateral.stages.{stage}")
    except ModuleNotFoundError:
        print(stage)
"""
    found = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert tuple(found.split()) == TRAINING


# Where it cannot be


def test_findings_are_imported_and_hashed_before_the_jobs_of_metrics():
    code = """
import sys
from collateral.plan import fingerprint
from collateral.warm.server import warm_up
warm_up("metrics")
names = [name for name in sys.modules if name.startswith("collateral.findings.")]
numbers = [name for name in names if name.endswith(".numbers")]
print(len(numbers) > 15, {*numbers} <= {*fingerprint._known})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_a_user_can_switch_it_off(monkeypatch):
    monkeypatch.setenv(ADDRESS, OFF)
    monkeypatch.setattr(run_hooks, "start_server", lambda folder: pytest.fail("started"))
    keep_warm()
    assert os.environ[ADDRESS] == OFF


@pytest.mark.parametrize(
    "lack",
    [
        "del os.pidfd_open",
        "ctypes.CDLL = lambda name: type('C', (), {'prctl': lambda *a: -1})()",
    ],
)
def test_jobs_are_not_forked_if_the_system_cannot(lack, capfd):
    program = f"""
import ctypes, os
from collateral.warm import server
{lack}
server.main()
"""
    folder = Path(tempfile.mkdtemp())
    assert start_server(str(folder), [sys.executable, "-c", program]) is None
    assert comes(lambda: not folder.exists())
    assert capfd.readouterr().err.startswith("collateral: no warm workers here (")


def test_jobs_are_not_forked_if_the_path_of_the_socket_is_too_long(tmp_path, monkeypatch, capfd):
    long = tmp_path / ("long" * 25)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    monkeypatch.delenv(ADDRESS, raising=False)
    keep_warm()
    assert ADDRESS not in os.environ
    assert capfd.readouterr().err.count("\n") == 1
    assert comes(lambda: not [*long.iterdir()])

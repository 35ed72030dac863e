"""Snakemake's lock goes if the run that took it is gone, and stays while a run may live."""

import platform
import subprocess
import sys

import pytest

from collateral.cli import main
from collateral.plan import run_hooks
from collateral.plan.run_hooks import unlock

HOLD = """
import signal, sys
from pathlib import Path
from collateral.plan.run_hooks import hold_lock
hold_lock(Path(sys.argv[1]))
print("held", flush=True)
signal.pause()
"""


@pytest.fixture
def folder(tmp_path):
    """Snakemake's folder, with locks in it."""
    (tmp_path / "locks").mkdir()
    for name in ("0.input.lock", "0.output.lock"):
        (tmp_path / "locks" / name).write_text("results/report.html\n")
    return tmp_path


@pytest.fixture
def start(folder):
    """Start runs that hold the folder; end those that still live."""
    started = []

    def start():
        command = [sys.executable, "-c", HOLD, str(folder)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "held\n"
        return started[-1]

    yield start
    for process in started:
        end(process)


def end(process):
    process.kill()
    process.wait()
    process.stdout.close()


def is_locked(folder):
    return bool([*folder.glob("locks/*")])


def test_a_working_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "no folder").touch()
    with pytest.raises(OSError, match="no folder") as error:
        run_hooks.hold_lock(tmp_path / "no folder/.snakemake")
    assert error.value.filename.endswith("no folder/.snakemake")


def test_without_a_lock_there_is_nothing_to_say(tmp_path):
    assert unlock(tmp_path / ".snakemake") == ""


def test_the_lock_of_a_run_that_lives_stays_until_it_is_killed(folder, start):
    process = start()
    assert "locked by a run that is going on" in unlock(folder)
    assert "snakemake --unlock" in unlock(folder)
    assert is_locked(folder)
    end(process)
    assert "is removed" in unlock(folder)
    assert not is_locked(folder)


def test_the_lock_stays_while_one_of_two_runs_in_a_folder_is_alive(folder, start):
    killed, living = start(), start()
    end(killed)
    assert "going on" in unlock(folder)
    assert is_locked(folder)
    end(living)
    assert "is removed" in unlock(folder)


def test_a_run_on_another_machine_may_live(folder, start):
    end(start())
    assert (folder / run_hooks.OWN_LOCK).read_text() == platform.node()
    (folder / run_hooks.OWN_LOCK).write_text("other")
    assert "locked by a run on other, which may be going on" in unlock(folder)
    assert is_locked(folder)


def test_a_lock_stays_if_the_state_of_its_run_is_unknown(folder):
    assert "is unknown ([Errno 2] No such file" in unlock(folder)
    assert is_locked(folder)


def test_a_file_system_without_locks_stops_no_run_and_loses_no_lock(folder, start, monkeypatch):
    end(start())

    def refuse(*_):
        raise OSError("no locks available")

    monkeypatch.setattr(run_hooks.fcntl, "flock", refuse)
    run_hooks.hold_lock(folder)
    assert "is unknown (no locks available): if no snakemake" in unlock(folder)
    assert is_locked(folder)


def test_the_command_says_it_in_one_line_and_never_fails(folder, start, capsys):
    process = start()
    main(["unlock", "--folder", str(folder)])
    assert capsys.readouterr().out.count("\n") == 1
    end(process)
    main(["unlock", "--folder", str(folder)])
    assert "is removed" in capsys.readouterr().out
    main(["unlock", "--folder", str(folder)])
    assert capsys.readouterr() == ("", "")

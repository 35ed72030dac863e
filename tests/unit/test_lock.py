"""Whose lock may go: that of a run which is surely gone, and no other."""

import json
import os
import platform
import subprocess
import sys
import time

import pytest

from collateral.cli import main
from collateral.plan import lock
from collateral.plan.lock import Process, sign, unlock, withdraw

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells who is gone")
NAMES = ("0.input.lock", "0.output.lock")
GONE = {"started": "1"}  # a process of our number that began long ago


@pytest.fixture
def folder(tmp_path):
    """Snakemake's folder, locked by this very process."""
    for name in NAMES:
        write_lock(tmp_path, name)
    sign(NAMES, tmp_path)
    return tmp_path


def write_lock(folder, name):
    (folder / "locks").mkdir(exist_ok=True)
    (folder / "locks" / name).write_text("results/report.html\n")


def signatures(folder):
    return sorted((folder / lock.OWNERS).glob("*.json"))


def change(folder, **process):
    """Let the signature be of another process."""
    (path,) = signatures(folder)
    content = json.loads(path.read_text())
    assert process.keys() <= content["process"].keys()
    path.write_text(json.dumps({**content, "process": content["process"] | process}))


def is_locked(folder):
    found = {path.name for path in folder.glob("locks/*")}
    assert found in ({*NAMES}, set())
    return bool(found)


def test_without_a_lock_there_is_nothing_to_say(tmp_path):
    assert unlock(tmp_path / ".snakemake") == []


def test_the_lock_of_a_run_that_lives_stays_and_the_run_is_named(folder):
    (said,) = unlock(folder)
    assert is_locked(folder)
    assert f"locked by process {os.getpid()} of {platform.node()}" in said
    assert "snakemake --unlock" in said


def test_the_lock_of_a_run_that_is_gone_is_removed_with_its_signature(folder):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    change(folder, pid=process.pid)
    (said,) = unlock(folder)
    assert f"process {process.pid} of {platform.node()}, which was killed, is removed" in said
    assert not is_locked(folder)
    assert signatures(folder) == []


def test_a_later_process_of_the_same_number_is_another(folder):
    change(folder, **GONE)
    unlock(folder)
    assert not is_locked(folder)


def test_a_run_that_was_killed_and_not_yet_buried_is_gone(folder):
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    started = Process.of(process.pid).started
    process.kill()
    while Process.of(process.pid).started and lock._status(process.pid)[0] != "Z":
        time.sleep(0.01)
    change(folder, pid=process.pid, started=started)
    unlock(folder)
    process.wait()
    assert not is_locked(folder)


@pytest.mark.parametrize("host", ["other", f"{platform.node()} of-another-machine"])
def test_a_run_on_another_machine_may_live(folder, host):
    change(folder, host=host, **GONE)
    (said,) = unlock(folder)
    assert f"of {host.split()[0]}, which may be running" in said
    assert is_locked(folder)


def test_a_run_in_another_container_may_live(folder):
    change(folder, space="pid:[1]", **GONE)
    unlock(folder)
    assert is_locked(folder)


def test_no_run_outlives_its_machines_boot(folder):
    change(folder, boot="the one before", space="pid:[1]")
    unlock(folder)
    assert not is_locked(folder)


def test_a_lock_that_nobody_has_signed_for_stays(folder):
    withdraw(folder)
    assert signatures(folder) == []
    (said,) = unlock(folder)
    assert "no run has signed" in said
    assert is_locked(folder)


def test_a_lock_that_is_newer_than_the_signature_is_anothers(folder):
    change(folder, **GONE)
    for name in NAMES:
        path = folder / "locks" / name
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    (said,) = unlock(folder)
    assert "no run has signed" in said
    assert is_locked(folder)


def test_of_two_runs_in_one_folder_each_has_its_own_lock(folder):
    change(folder, **GONE)
    (path,) = signatures(folder)
    path.rename(path.with_name("killed.json"))
    write_lock(folder, "1.output.lock")
    sign([".snakemake/locks/1.output.lock"], folder)
    killed, living = sorted(unlock(folder), key=lambda line: "killed" not in line)
    assert "is removed" in killed
    assert "may be running" in living
    assert [path.name for path in folder.glob("locks/*")] == ["1.output.lock"]


def test_a_signature_without_a_lock_goes_when_its_run_is_gone(folder):
    for name in NAMES:
        (folder / "locks" / name).unlink()
    assert unlock(folder) == []
    assert len(signatures(folder)) == 1
    change(folder, **GONE)
    assert unlock(folder) == []
    assert signatures(folder) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"process": {}, "locks": {}}'])
def test_a_signature_that_cannot_be_read_is_none(folder, content):
    signatures(folder)[0].write_text(content)
    (said,) = unlock(folder)
    assert "no run has signed" in said
    assert is_locked(folder)


def test_where_the_system_tells_nothing_no_lock_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "PROC", tmp_path / "no-proc")
    for name in NAMES:
        write_lock(tmp_path, name)
    sign(NAMES, tmp_path)
    change(tmp_path, pid=2**22 + 1)  # larger than any
    (said,) = unlock(tmp_path)
    assert "which may be running" in said
    assert is_locked(tmp_path)


def test_the_command_says_it_in_one_line_and_never_fails(folder, capsys):
    main(["unlock", "--folder", str(folder)])
    assert capsys.readouterr().out.count("\n") == 1
    change(folder, **GONE)
    main(["unlock", "--folder", str(folder)])
    assert "is removed" in capsys.readouterr().out
    main(["unlock", "--folder", str(folder)])
    said = capsys.readouterr()
    assert said.out == said.err == ""

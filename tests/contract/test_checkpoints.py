"""State on disk: read back as it was, thrown away when damaged, written when a warning comes.

Jobs are killed for real: children of a server that has torch loaded, so that a start takes no time.
"""

import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

torch = pytest.importorskip("torch")

from workshop import Workshop, main

from collateral.stages import tune
from collateral.stages._workspace import Workspace
from collateral.training.checkpoints import WARNINGS, Checkpoints, Saver

PATIENCE_SECONDS = 120
KILLS = 20
PROGRAM = """
import pickle, sys
sys.path.insert(0, sys.argv[1])
from workshop import main
main(pickle.loads(bytes.fromhex(sys.argv[2])))
"""
STAGES = ("collateral.stages.train", "collateral.stages.tune")


# Files


def test_a_state_is_read_back_as_it_was(tmp_path):
    state = {
        "states": [{0: {"step": torch.tensor(3.0)}, "groups": [{"lr": 0.1, "betas": (0.9, 0.99)}]}],
        "generator": torch.Generator().get_state(),
        "history": [{"epoch": 0, "loss": 1 / 3}],
        "stopped": False,
        "nothing": None,
    }
    Checkpoints(tmp_path, "job").save("loop-1", state)
    found = Checkpoints(tmp_path, "job").load("loop-1")
    assert torch.equal(found["states"][0][0].pop("step"), state["states"][0][0].pop("step"))
    assert torch.equal(found.pop("generator"), state.pop("generator"))
    state["states"][0]["groups"][0]["betas"] = [0.9, 0.99]  # JSON knows no tuples
    assert found == state


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64])
def test_a_tensor_is_read_back_with_its_type_and_layout(tmp_path, dtype):
    weight = torch.arange(2 * 3 * 4 * 4).reshape(2, 3, 4, 4).to(dtype)
    weight = weight.to(memory_format=torch.channels_last)
    Checkpoints(tmp_path, "job").save("loop-1", {"weight": weight})
    found = Checkpoints(tmp_path, "job").load("loop-1")["weight"]
    assert torch.equal(found, weight)
    assert (found.dtype, found.stride()) == (weight.dtype, weight.stride())


def test_there_is_nothing_to_load_before_the_first_save(tmp_path):
    assert Checkpoints(tmp_path / "none", "job").load("loop-1") is None


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_checkpoint_is_deleted_with_a_message(tmp_path, caplog, damage):
    checkpoints = Checkpoints(tmp_path, "job")
    checkpoints.save("loop-1", {"weight": torch.ones(100)})
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes({"flip": bytes(content), "cut": content[:200], "empty": b""}[damage])
    with caplog.at_level(logging.WARNING):
        assert checkpoints.load("loop-1") is None
    assert "loop-1.checkpoint is damaged or of another job: starting anew" in caplog.text
    assert not path.exists()


def test_a_checkpoint_of_another_job_is_deleted_with_a_message(tmp_path, caplog):
    Checkpoints(tmp_path, "job").save("loop-1", {"epochs_done": 3})
    with caplog.at_level(logging.WARNING):
        assert Checkpoints(tmp_path, "other job").load("loop-1") is None
    assert "of another job" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_clearing_removes_inner_folders_too(tmp_path):
    checkpoints = Checkpoints(tmp_path / "job", "job")
    checkpoints.save("loop-1", {})
    checkpoints.within("prepare").save("loop-1", {})
    checkpoints.within("prepare").clear()
    assert checkpoints.within("prepare").load("loop-1") is None
    assert checkpoints.load("loop-1") == {}
    checkpoints.clear()
    assert not (tmp_path / "job").exists()


# When they are written


@pytest.mark.parametrize(("interval", "expected"), [(10, [3, 6]), (0, [1, 2, 3, 4, 5, 6, 7])])
def test_a_saver_writes_when_the_last_one_is_long_ago(tmp_path, monkeypatch, interval, expected):
    now, saved = [0.0], []
    monkeypatch.setattr("collateral.training.checkpoints.time.monotonic", lambda: now[0])
    monkeypatch.setattr(Checkpoints, "save", lambda self, name, state: saved.append(state["epoch"]))
    saver = Saver(Checkpoints(tmp_path, "job", interval), "loop-1")
    for epoch in range(1, 8):
        now[0] += 4
        saver.note({"epoch": epoch})
    assert saved == expected


def test_a_saver_writes_the_latest_epoch_at_the_end_and_only_once(tmp_path, monkeypatch):
    saved = []
    monkeypatch.setattr(Checkpoints, "save", lambda self, name, state: saved.append(state["epoch"]))
    saver = Saver(Checkpoints(tmp_path, "job", 1e9), "loop-1")
    for epoch in (1, 2):
        saver.note({"epoch": epoch})
    saver.save()
    saver.save()
    assert saved == [2]


@pytest.mark.parametrize("number", WARNINGS)
def test_a_warning_saves_the_latest_epoch_and_leaves(tmp_path, number):
    checkpoints = Checkpoints(tmp_path, "job", 1e9)
    saver, before = Saver(checkpoints, "loop-1"), signal.getsignal(number)
    with pytest.raises(SystemExit) as left, saver.saving_on_signals():
        saver.note({"epoch": 1})
        os.kill(os.getpid(), number)
    assert left.value.code == 128 + number
    assert checkpoints.load("loop-1") == {"epoch": 1}
    assert signal.getsignal(number) == before


# Jobs that are killed


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="module")
def server():
    """Return a context whose processes are forked from one that has torch and the stages loaded."""
    context = multiprocessing.get_context("forkserver")
    # Optimisers import torch._dynamo when they are first used, for more than a second.
    context.set_forkserver_preload(["__main__", "torch._dynamo", *STAGES])
    start(context, os.getpid).join()
    return context


def start(context, function, *args):
    """Start a process that is forked from the server."""
    process = context.Process(target=function, args=args)
    process.start()
    return process


def wait_for(condition, process) -> None:
    """Wait until something holds; fail if the process ends before."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert process.is_alive(), f"ended with {process.exitcode} too early"
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.002)


def stamp(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@pytest.mark.slow
def test_a_training_job_killed_twenty_times_ends_in_the_same_bits(workshop, server):
    began, latest = time.monotonic(), workshop.checkpoints("killed") / "loop-1.checkpoint"
    start(server, main, workshop.train("undisturbed", epochs=150)).join()
    whole_seconds, random = time.monotonic() - began, Random(0)
    command = workshop.train("killed", epochs=150)
    for kill in range(KILLS):
        before, process = stamp(latest), start(server, main, command)
        if kill % 2:  # half of them while it trains, half at any moment from the start
            wait_for(lambda: stamp(latest) != before, process)  # noqa: B023
        time.sleep(random.uniform(0, whole_seconds / (2 * KILLS)))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "ended before it was killed"
    assert not (workshop.folder / "killed").exists()
    main(command)
    assert workshop.results("killed") == workshop.results("undisturbed")
    assert not workshop.checkpoints("killed").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", WARNINGS)
def test_a_warned_training_job_leaves_a_checkpoint_and_is_finished_later(workshop, number):
    name, epochs = f"warned-{number.name}", 100
    main(workshop.train(f"{name}-not", epochs))
    words = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)]
    latest = workshop.checkpoints(name) / "loop-1.checkpoint"
    job = subprocess.Popen([*words, pickle.dumps(workshop.train(name, epochs)).hex()])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not latest.exists():
        assert job.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    job.send_signal(number)
    assert job.wait(PATIENCE_SECONDS) == 128 + number
    assert latest.exists()
    assert not (workshop.folder / name / "model.safetensors").exists()
    main(workshop.train(name, epochs))
    assert workshop.results(name) == workshop.results(f"{name}-not")


@pytest.mark.slow
def test_a_killed_tuning_job_does_not_run_its_finished_trials_again(workshop, server, monkeypatch):
    def tuning(name: str) -> Workspace:
        trials = [{"lr": lr} for lr in (0.001, 0.003, 0.1)]  # and the default
        params, default = {"epochs": 20, "batch_size": 16}, {"lr": 0.01}
        return workshop.method("tune", name, "ft", params, trials=trials, default=default)

    main(workshop.train("base", epochs=5))
    main(tuning("tune-undisturbed"))
    command = tuning("tune-killed")
    process = start(server, main, command)
    finished = workshop.checkpoints("tune-killed")
    wait_for((finished / "trial-1.checkpoint").exists, process)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    num_finished = len(list(finished.glob("trial-?.checkpoint")))

    calls, measure = [], tune.measure
    monkeypatch.setattr(tune, "measure", lambda *args: calls.append(args) or measure(*args))
    main(command)
    assert len(calls) == 4 - num_finished

    killed, undisturbed = (workshop.results(f"tune-{name}") for name in ("killed", "undisturbed"))
    assert killed["selected.json"] == undisturbed["selected.json"]
    assert killed["trials.csv"] == undisturbed["trials.csv"]

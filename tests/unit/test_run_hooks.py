"""What is done around a run: timers that nobody waits for; how many jobs share a GPU."""

import re
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from markdown_reading import ROOT

from collateral.plan.run_hooks import cancel_timers, slots_per_gpu
from collateral.results.record import GPU_SLOTS

# Ways to put something else in the place of a part of Snakemake or of a plug-in.
REPLACED = re.compile(
    r"\bsetattr\(|overwrite_function_params|register_resource"
    r"|^\s*(?:workflow|Persistence\w*|plugin|scheduler)(?:\.(?!default_target)\w+)+ = ",
    re.M,
)


def test_python_waits_for_no_timer_of_a_run_that_has_ended():
    rung = []
    timers = [threading.Timer(60, rung.append, [1]) for _ in range(3)]
    for timer in timers:
        timer.start()
    cancel_timers()
    for timer in timers:
        timer.join(timeout=30)
    assert not any(timer.is_alive() for timer in timers) and rung == []


def test_a_process_whose_main_thread_has_ended_waits_for_no_timer():
    """Also where Snakemake runs no `onsuccess`: in a workflow that was imported as a module."""
    lines = (
        "import threading",
        "from collateral.plan.run_hooks import wait_for_no_timer",
        "wait_for_no_timer()",
        "threading.Timer(86400, print, ['rung']).start()",
        "print('ended')",
    )
    words = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "ended\n"


@pytest.mark.parametrize(("profile", "executor"), [("default", None), ("slurm", "slurm")])
def test_the_profiles_limit_no_jobs_per_second_and_look_seldom(profile, executor):
    content = yaml.safe_load((ROOT / f"profiles/{profile}/config.yaml").read_text())
    assert content.get("executor") == executor
    count, _, seconds = content["max-jobs-per-timespan"].removesuffix("s").partition("/")
    assert int(count) > 10_000 and int(seconds) >= 10
    # Without the package, Snakemake would end here before it reads the Snakefile.
    assert ("logger" in content) == (profile == "slurm")


def workflow(*, local=True, **resources):
    given = SimpleNamespace(get=lambda name: SimpleNamespace(value=resources.get(name)))
    return SimpleNamespace(local_exec=local, resource_settings=SimpleNamespace(resources=given))


def test_as_many_jobs_share_a_gpu_as_the_environment_says(monkeypatch):
    monkeypatch.delenv(GPU_SLOTS, raising=False)
    assert slots_per_gpu(workflow()) == 1
    monkeypatch.setenv(GPU_SLOTS, "3")
    assert slots_per_gpu(workflow(gpu=6)) == 3
    with pytest.raises(ValueError, match=f"in place of gpu_slots, set {GPU_SLOTS}"):
        slots_per_gpu(workflow(gpu=2, gpu_slots=3))
    # On a cluster a GPU belongs to a job.
    assert slots_per_gpu(workflow(local=False)) == 1


@pytest.mark.parametrize("slots", ["0", "17", "", "two", "1.5"])
def test_a_wrong_number_of_slots_is_named(monkeypatch, slots):
    monkeypatch.setenv(GPU_SLOTS, slots)
    with pytest.raises(ValueError, match=f"^{GPU_SLOTS}={slots}: choose 1 to 16 jobs per GPU$"):
        slots_per_gpu(workflow())


@pytest.mark.parametrize(
    "file",
    [
        *(ROOT / "workflow/rules").glob("*.smk"),
        *(ROOT / "workflow/snakemake_logger_plugin_collateral").glob("*.py"),
        ROOT / "workflow/collateral/plan/run_hooks.py",
        *(ROOT / "Snakefile", ROOT / "workflow/Snakefile"),
    ],
    ids=lambda path: path.name,
)
def test_no_function_of_snakemake_is_replaced_by_ours(file: Path):
    assert [*REPLACED.findall(file.read_text())] == []

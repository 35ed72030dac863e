"""Snakemake under a profile with `logger: collateral`: what a user sees, on a tiny workflow."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

SOURCES = Path(__file__).parents[2] / "workflow"
SNAKEFILE = """
rule all:
    input:
        "base.txt",
        expand("{run}-{seed}.txt", run=["ft", "rl"], seed=[0]),


rule base:
    output:
        "base.txt",
    shell:
        "touch {output}"


rule unlearn:
    input:
        "base.txt",
    output:
        "{run}-{seed}.txt",
    log:
        "{run}-{seed}.log",
    shell:
        "sleep ${{PAUSE:-0.4}}; echo 'ValueError: bad {wildcards.run}' > {log};"
        " test {wildcards.run} != \\"${{BAD:-}}\\"; touch {output}"


onsuccess:
    print("Look at report.html")
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    profile = tmp_path / "profiles" / "default" / "config.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text("logger: collateral\ncores: 2\n")
    return tmp_path


def command(*arguments):
    return [sys.executable, "-m", "snakemake", *arguments]


def settings(folder, **variables):
    terminal = {"COLUMNS": "100", "TERM": "xterm"}
    python = {"PYTHONPATH": str(SOURCES), "PYTHONHASHSEED": "0"}  # lists files in one order
    return {"cwd": folder, "env": os.environ | terminal | python | variables, "text": True}


def snakemake(folder, *arguments, **variables):
    return subprocess.run(
        command(*arguments), **settings(folder, **variables), capture_output=True, check=False
    )


def test_a_run_tells_its_jobs_its_progress_and_its_end(folder):
    run = snakemake(folder)
    assert run.returncode == 0, run.stderr
    told = run.stderr.splitlines()[1:]  # the first line names the profile
    assert told[0] == "4 jobs: 1 base, 2 unlearn, 1 all"
    running = r"unlearn \((ft|rl), seed 0\)"
    assert re.fullmatch(rf"\[1/4\]  25 %  2 running: {running}, {running}", told[1])
    assert re.fullmatch(r"4 jobs done in \d+ s\.", told[-1])
    assert run.stdout == "Look at report.html\n"
    assert not re.search(r"[\x00-\x09\x0b-\x1f]|Select jobs|localrule", run.stderr)


def test_a_second_run_says_that_there_is_nothing_to_be_done(folder):
    snakemake(folder, PAUSE="0")
    again = snakemake(folder)
    assert again.stderr.splitlines()[1:] == ["Nothing to be done: all results are up to date."]


def test_a_failed_job_is_named_with_its_cause_at_once_and_at_the_end(folder):
    run = snakemake(folder, BAD="rl")
    assert run.returncode == 1
    block = "failed: unlearn (rl, seed 0)\n  log: rl-0.log\n  ValueError: bad rl\n"
    assert run.stderr.count(block) == 2
    assert re.search(rf"of 4 jobs done in \d+ s; 1 failed\.\n{re.escape(block)}$", run.stderr)


def test_a_dry_run_looks_as_without_the_display(folder):
    def lines(run):
        varying = r"\s*(Date|Workflow ID|Command):.*|\[.*\]"
        return sorted(line for line in run.stdout.splitlines() if not re.fullmatch(varying, line))

    plain = lines(snakemake(folder, "--workflow-profile", "none", "-n"))
    assert any(line.startswith("This was a dry-run") for line in plain)
    assert lines(snakemake(folder, "-n")) == plain


def test_missing_metadata_is_told_as_snakemake_tells_it(folder):
    """In dry runs alone; of a run, Collateral's Snakefile says it (test_changed_since.py)."""
    snakemake(folder, PAUSE="0")
    shutil.rmtree(folder / ".snakemake")
    told = "3 jobs have missing provenance/metadata"
    assert told in snakemake(folder, "-n").stdout
    plain = snakemake(folder, "--workflow-profile", "none", "--cores", "1").stderr
    assert "Nothing to be done" in plain
    assert told not in plain


def test_an_error_in_the_snakefile_is_shown(folder):
    message = "methods: unknown ['ltdd']; did you mean ltd?"
    with (folder / "Snakefile").open("a") as snakefile:
        snakefile.write(f'\n\nraise WorkflowError("{message}")\n')
    run = snakemake(folder)
    assert run.returncode == 1
    assert message in run.stderr


def on_terminal(folder, interrupt_at=None, **variables):
    """Run on a terminal, with Ctrl-C once `interrupt_at` is on it; return all it received."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command(),
        **settings(folder, **variables),
        stderr=slave,
        start_new_session=True,
        # A test run in the background ignores Ctrl-C, and so would all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(slave)
    received = ""
    while chunk := read(master):
        received += chunk
        if interrupt_at and interrupt_at in received:
            interrupt_at = None
            os.killpg(process.pid, signal.SIGINT)
    os.close(master)
    process.wait(timeout=30)
    return received


def read(terminal):
    try:
        return os.read(terminal, 4096).decode()
    except OSError:  # how Linux reports that the other end is closed
        return ""


def visible(received):
    """Return what is left on the screen."""
    return [line.split("\r\x1b[K")[-1] for line in received.replace("\r\n", "\n").split("\n")]


def test_on_a_terminal_the_status_is_rewritten_and_leaves_no_trace(folder):
    received = on_terminal(folder)
    assert re.search(r"\r\x1b\[K\[1/4\]  25 %  2 running: unlearn \(", received)
    shown = visible(received)[1:]
    assert shown[0] == "4 jobs: 1 base, 2 unlearn, 1 all"
    assert re.fullmatch(r"4 jobs done in \d+ s\.", shown[1])
    assert shown[2:] == [""]


def test_an_interrupt_leaves_a_clean_line(folder):
    start = time.monotonic()
    shown = visible(on_terminal(folder, interrupt_at="2 running", PAUSE="60"))
    assert time.monotonic() - start < 30
    assert re.fullmatch(r"1 of 4 jobs done in \d+ s\.", shown[-2])
    assert not any("running" in line or "failed:" in line for line in shown)

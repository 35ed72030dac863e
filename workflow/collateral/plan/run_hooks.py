"""Code around a Snakemake run: a lock, a server that starts jobs, and last lines.

Snakemake's own lock names files and no process, so it outlives a run that was killed. The kernel
releases its lock on a file as soon as the process ends: that tells whether a run is alive.
"""

import fcntl
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from collateral.plan import paths
from collateral.results.files import InvalidResultError, read_json
from collateral.results.gates import count_amber_gates, describe_red_gates
from collateral.results.job_text import ADDRESS, OFF
from collateral.results.record import GPU_SLOTS, MOST_SLOTS

FOLDER = Path(".snakemake")
LOCKS = "locks/*.lock"  # lock files of Snakemake 9.27
OWN_LOCK = "collateral.lock"
REMEDY = "if no snakemake works in this folder, `snakemake --unlock`"
SERVER = (sys.executable, "-m", "collateral.warm.server")
# Environment variables that limit libraries to one thread; libraries read them during import.
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
        *("GOTO_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
    ),
    "1",
)
_locks: list[TextIO] = []  # open lock files; closing a file would release its lock
# Running servers; a server ends when its standard input is closed.
_servers: list[subprocess.Popen[str]] = []


def hold_lock(folder: Path = FOLDER) -> None:
    """Hold a shared lock on the folder until this process ends; several runs can hold it.

    Raise OSError if the folder cannot be made, without which Snakemake cannot run either.
    """
    folder.mkdir(exist_ok=True)
    try:
        file = (folder / OWN_LOCK).open("a+", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_SH)
    except OSError:  # the file is another user's, or the file system has no locks
        return
    file.truncate(0)
    print(platform.node(), end="", file=file, flush=True)
    _locks.append(file)


def unlock(folder: Path = FOLDER) -> str:
    """Remove Snakemake's locks if no run uses the folder; return a sentence about the result."""
    if not any(folder.glob(LOCKS)):
        return ""
    try:
        with (folder / OWN_LOCK).open("r+", encoding="utf-8") as file:
            host = file.read()
            if host != platform.node():  # other machines may not see the lock
                return f"locked by a run on {host}, which may be going on: wait for it; {REMEDY}"
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in folder.glob(LOCKS):
                path.unlink(missing_ok=True)
    except BlockingIOError:
        return f"locked by a run that is going on: wait for it; {REMEDY}"
    except OSError as error:
        return f"locked, and whether by a run that is going on is unknown ({error}): {REMEDY}"
    return "the lock of a run that was killed is removed"


def keep_warm() -> None:
    """Start a server that forks the jobs of this process; the server ends with this process."""
    if os.environ.get(ADDRESS) == OFF:
        return
    folder = tempfile.mkdtemp(prefix="collateral-")
    if server := start_server(folder):
        _servers.append(server)
        os.environ[ADDRESS] = folder


def start_server(folder: str, command: Sequence[str] = SERVER) -> subprocess.Popen[str] | None:
    """Start a server in a private folder; return None if the server cannot start."""
    server = subprocess.Popen(
        [*command, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},
    )
    assert server.stdout
    return server if server.stdout.readline() else None


def wait_for_no_timer() -> None:
    """When the main thread has ended, cancel all timers, so that Python exits at once.

    In place of `onsuccess`, which Snakemake does not run for a workflow imported as a module.
    """
    threading.Thread(target=_cancel_at_end, daemon=True).start()


def _cancel_at_end() -> None:
    threading.main_thread().join()
    cancel_timers()


def cancel_timers() -> None:
    """Cancel every threading.Timer of this process, for which Python would wait before it exits.

    Snakemake's own are those of its limit on jobs per second (profiles/default): they would only
    wake a scheduler that has ended. A timer of anything else in the process is cancelled too.
    """
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()


def last_lines(benchmarks: Iterable[str]) -> list[str]:
    """Return the lines that a run prints last: findings, pages, failed sanity checks (red gates).

    A damaged file gives a line with its error, because the run itself was successful.
    """
    lines, red = [], []
    for name in benchmarks:
        glance, gates, page = (
            Path(pattern.format(benchmark=name))
            for pattern in (paths.GLANCE, paths.GATES, paths.REPORT)
        )
        try:
            red += describe_red_gates(gates)
            found = read_json(glance) if glance.exists() else None
        except InvalidResultError as error:
            lines.append(str(error))
            continue
        if found is not None:
            said = [found[key] for key in ("headline", "details") if found.get(key)]
            lines += [f"{name}: {' '.join(said)}"] if said else []
            warnings = count_amber_gates(gates)
            lines.append(f"{name}: warnings: {warnings}. {page.absolute().as_uri()}")
    meaning = ["Numbers of these cells do not mean what they say."] if red else []
    return [*lines, *red, *meaning]


def slots_per_gpu(workflow: Any) -> int:
    """Return how many jobs may share a GPU: the environment's COLLATERAL_GPU_SLOTS, or 1.

    `--resources gpu` then counts slots. A scheduler such as SLURM counts GPUs itself.
    """
    if workflow.resource_settings.resources.get("gpu_slots").value:
        text = f"in place of gpu_slots, set {GPU_SLOTS} and let gpu count slots: docs/scale.md"
        raise ValueError(f"--resources: {text}")
    if not workflow.local_exec:
        os.environ.pop(GPU_SLOTS, None)
    slots = os.environ.get(GPU_SLOTS, "1")
    if slots not in map(str, range(1, MOST_SLOTS + 1)):
        raise ValueError(f"{GPU_SLOTS}={slots}: choose 1 to {MOST_SLOTS} jobs per GPU")
    return int(slots)


def has_gpu(workflow: Any, rule: str) -> bool:
    """Return whether the jobs of a rule, which can use a GPU, get one in this run.

    The profile or `--set-resources` may say so for the rule. If not, a scheduler gives one, and
    `--resources gpu` says whether this machine has one.
    """
    given = workflow.resource_settings
    own = given.overwrite_resources.get(rule, {})
    if "gpu" in own:
        return _is_asked_for(own["gpu"]) or "gpu" in _as_written(own.get("gres"))
    return not workflow.local_exec or _is_asked_for(given.resources.get("gpu"))


def _is_asked_for(resource: Any) -> bool:
    return _as_written(resource) not in ("None", "0")


def _as_written(resource: Any) -> str:
    """Return a resource as it was given: Snakemake evaluates `gres` only for a job."""
    return str(getattr(resource, "raw", resource))

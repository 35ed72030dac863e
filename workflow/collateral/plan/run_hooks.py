"""Code around a Snakemake run: a lock, a server that starts jobs, last lines, and two patches.

Snakemake's own lock names files and no process, so it outlives a run that was killed. The kernel
releases its lock on a file as soon as the process ends: that tells whether a run is alive.
docs/deviations.md has the reasons of the patches; rules/speed.smk has two more, for dry runs.
"""

import fcntl
import os
import platform
import subprocess
import sys
import tempfile
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
# Snakemake cannot start more jobs per second than this; a limit of 100 or more has no effect.
MOST_JOBS_A_SECOND = 100
SLURM_PLUGIN = "2.8"  # version of snakemake-executor-plugin-slurm for which the patch was written
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
            headline = read_json(glance).get("headline", "") if glance.exists() else None
        except InvalidResultError as error:
            lines.append(str(error))
            continue
        lines += [f"{name}: {headline}"] if headline else []
        if headline is not None:
            warnings = count_amber_gates(gates)
            lines.append(f"{name}: warnings: {warnings}. {page.absolute().as_uri()}")
    meaning = ["Numbers of these cells do not mean what they say."] if red else []
    return [*lines, *red, *meaning]


def share_gpus(workflow: Any) -> int:
    """Let jobs share GPUs; return the number of jobs per GPU, such as 3 for `gpu_slots=3`.

    Snakemake then counts slots instead of GPUs. A scheduler such as SLURM counts GPUs itself.
    """
    given = workflow.resource_settings.resources
    slots = (given.get("gpu_slots").value or 1) if workflow.local_exec else 1
    if slots not in range(1, MOST_SLOTS + 1):
        raise ValueError(f"--resources gpu_slots={slots}: choose 1 to {MOST_SLOTS} jobs per GPU")
    if gpus := given.get("gpu").value:
        workflow.register_resource("gpu", slots * gpus)
    os.environ[GPU_SLOTS] = str(slots)
    return slots


class SlurmPluginError(Exception):
    """Raised if `patch_slurm_plugin` does not support the version of the SLURM plug-in."""


def lift_limit(scheduler: Any) -> None:
    """Remove Snakemake's limit on jobs per second if the limit is 100 (the default) or more.

    While jobs wait, each pass of the scheduler starts a timer for another pass one timespan later,
    and each job that ends adds a pass: after 1,000 jobs, about 1,000 passes per second. CPU seconds
    with and without this patch: 1.7 and 2.4 for 250 jobs of 1 s each, 13 and 38 for 1,000 such
    jobs, and 102 in both cases for 10,000 jobs of 0 s, because no job waits for long.
    """
    limit = getattr(scheduler, "job_rate_limiter", None)
    if limit and limit.max_jobs >= MOST_JOBS_A_SECOND * limit.timespan:
        scheduler.job_rate_limiter = None


# Without this patch, Snakemake would notice the end of a job up to 180 s late.
def patch_slurm_plugin(plugin: Any, wait: int, memory: int) -> None:
    """Make the SLURM plug-in check jobs every `wait` seconds, with `memory` seconds as MinJobAge.

    The plug-in itself waits 10 s longer after each check at which no job had ended. It also asks
    the controller for MinJobAge before each check and, without an answer, turns to sacct.
    """
    if not (hasattr(plugin, "get_min_job_age") and hasattr(plugin, "Executor")):
        raise SlurmPluginError(
            f"{plugin.__name__} is not as of {SLURM_PLUGIN}, which this was made for."
        )
    plugin.get_min_job_age = lambda: memory
    plugin.Executor.next_seconds_between_status_checks = property(
        lambda self: wait, lambda self, _: None
    )

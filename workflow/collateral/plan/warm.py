"""Start the warm server of a run, and end it with the run."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from collateral.warm import ADDRESS, OFF

SERVER = (sys.executable, "-m", "collateral.warm.server")
# As Snakemake sets them for a job of one thread; libraries read them when they are imported.
ONE_THREAD = dict.fromkeys(
    (
        *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
        *("GOTO_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
    ),
    "1",
)


def keep_warm() -> None:
    """Let the jobs of this process be forked from a server that lives as long as it does."""
    if os.environ.get(ADDRESS) == OFF:
        return
    folder = tempfile.mkdtemp(prefix="collateral-")
    if server := start(folder):
        _servers.append(server)
        os.environ[ADDRESS] = folder


_servers: list[subprocess.Popen[str]] = []  # whose standard input is open as long as we live


def start(folder: str, command: Sequence[str] = SERVER) -> subprocess.Popen[str] | None:
    """Start a server in a folder that is ours alone; None where the system does not allow it."""
    server = subprocess.Popen(
        [*command, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},
    )
    assert server.stdout
    return server if server.stdout.readline() else None

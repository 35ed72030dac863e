"""Start the warm server of a run, and end it with the run."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from collateral.warm import ADDRESS

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
    server = start()
    os.environ[ADDRESS] = str(server.args[-1])
    _servers.append(server)


_servers: list[subprocess.Popen[str]] = []  # whose standard input is open as long as we live


def start(command: Sequence[str] = SERVER) -> subprocess.Popen[str]:
    """Start a server on a socket in a folder that is ours alone; wait until it listens."""
    address = Path(tempfile.mkdtemp(prefix="collateral-")) / "warm"
    server = subprocess.Popen(
        [*command, str(address)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD},
    )
    assert server.stdout
    server.stdout.readline()
    return server

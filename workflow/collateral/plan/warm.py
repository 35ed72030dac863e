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
    address = new_address()
    _servers.append(start(address))
    os.environ[ADDRESS] = str(address)


_servers: list[subprocess.Popen[str]] = []  # whose standard input is open as long as we live


def new_address() -> Path:
    """Return a socket's path in a folder that is ours alone."""
    return Path(tempfile.mkdtemp(prefix="collateral-")) / "warm"


def start(address: Path, command: Sequence[str] = SERVER) -> subprocess.Popen[str]:
    """Start a server; wait until it listens."""
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

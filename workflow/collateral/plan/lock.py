"""Remove Snakemake's lock after a kill: the kernel's lock on a file says whether a run lives.

Snakemake's own lock names files and no process, so it outlives a run that was killed. The kernel
releases a lock of its own as soon as the process ends.
"""

from __future__ import annotations

import fcntl
import platform
from pathlib import Path
from typing import TextIO

FOLDER = Path(".snakemake")
LOCKS = "locks/*.lock"  # Snakemake's (9.27)
OWN = "collateral.lock"
REMEDY = "if no snakemake works in this folder, `snakemake --unlock`"
_open: list[TextIO] = []  # for as long as the process lives: closing a file releases its lock


def hold(folder: Path = FOLDER) -> None:
    """Lock the folder until this process ends; several runs may do so at the same time."""
    try:
        folder.mkdir(exist_ok=True)
        file = (folder / OWN).open("a+", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_SH)
    except OSError:  # a folder that is not writable, or a file system without locks
        return
    file.truncate(0)
    print(platform.node(), end="", file=file, flush=True)
    _open.append(file)


def unlock(folder: Path = FOLDER) -> str:
    """Remove Snakemake's locks if no run holds the folder; return a sentence on what was done."""
    if not any(folder.glob(LOCKS)):
        return ""
    try:
        with (folder / OWN).open("r+", encoding="utf-8") as file:
            host = file.read()
            if host != platform.node():  # some file systems show a lock to one machine only
                return f"locked by a run on {host}, which may be going on: wait for it; {REMEDY}"
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in folder.glob(LOCKS):
                path.unlink(missing_ok=True)
    except BlockingIOError:
        return f"locked by a run that is going on: wait for it; {REMEDY}"
    except OSError as error:
        return f"locked, and whether by a run that is going on is unknown ({error}): {REMEDY}"
    return "the lock of a run that was killed is removed"

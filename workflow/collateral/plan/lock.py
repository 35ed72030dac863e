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
    folder.mkdir(exist_ok=True)
    file = (folder / OWN).open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
    except OSError:  # a file system without locks
        file.close()
        return
    file.truncate(0)
    print(platform.node(), end="", file=file, flush=True)
    _open.append(file)


def unlock(folder: Path = FOLDER) -> str:
    """Remove Snakemake's locks if no run holds the folder; return a sentence on what was done."""
    if not any(folder.glob(LOCKS)):
        return ""
    if not (folder / OWN).exists():
        return f"locked, and no run of Collateral is known here: {REMEDY}"
    with (folder / OWN).open("r+", encoding="utf-8") as file:
        host = file.read()
        if host != platform.node():  # locks of some file systems are known to one machine only
            return f"locked by a run on {host}, which may be going on: wait for it; {REMEDY}"
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return f"locked by a run that is going on: wait for it; {REMEDY}"
        for path in folder.glob(LOCKS):
            path.unlink(missing_ok=True)
    return "the lock of a run that was killed is removed"

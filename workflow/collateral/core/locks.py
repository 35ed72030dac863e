"""Locks on what this machine has several of; a process that dies, however it dies, gives its up."""

import fcntl
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

log = logging.getLogger(__name__)
_held: list[IO[str]] = []  # open as long as the process lives: to close a file is to unlock it


def claim(names: Sequence[str], folder: Path, *, poll_seconds: float = 1.0) -> int:
    """Return the place of the first of `names` that is free, and keep it; wait if none is.

    A name's lock is a file in `folder`, which must be on a local file system.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    files = [folder / f"{name}.lock" for name in names]
    is_waiting = False
    while (place := _first_free(files)) is None:
        if not is_waiting:
            holders = [f"{file.stem} is held by {file.read_text()}" for file in files]
            log.info("waiting: %s", "; ".join(holders))
            is_waiting = True
        time.sleep(poll_seconds)
    return place


def _first_free(files: Sequence[Path]) -> int | None:
    """Lock the first file that nobody has locked and return its place, or None."""
    return next((place for place, file in enumerate(files) if _is_locked(file)), None)


def _is_locked(path: Path) -> bool:
    """Try to lock a file; if that succeeds, write into it who did it."""
    file = path.open("a")  # not "w": what the holder wrote stays
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return False
    file.truncate(0)
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]])
    file.write(f"process {os.getpid()} ({command})")
    file.flush()
    _held.append(file)
    return True

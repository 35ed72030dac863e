"""Locks on GPUs; the kernel releases a lock when its process ends in any way.

A lock is a socket that is bound to an abstract name, outside the file system: only one process of
all users can have the name. It works on Linux only. A GPU has several names, its slots: a job that
shares its GPU locks one slot, any other job locks all of them.
"""

import errno
import logging
import socket
import time
from collections.abc import Sequence

from collateral.results.record import MOST_SLOTS

LOG = logging.getLogger(__name__)
# Sockets of the locks; they stay open, because closing a socket would release its lock.
_sockets: list[socket.socket] = []


def claim(names: Sequence[str], *, slots: int = 1, poll_seconds: float = 1.0) -> int:
    """Lock the first free GPU of `names` and return its index; wait if none is free.

    If `slots` is above 1, lock only one slot of the GPU, so that this number of jobs can share it.
    """
    place = _lock_first(names, slots)
    if place is None:
        LOG.info("waiting: other jobs use %s", ", ".join(names))
    while place is None:
        time.sleep(poll_seconds)
        place = _lock_first(names, slots)
    return place


def _lock_first(names: Sequence[str], slots: int) -> int | None:
    """Lock the first free GPU and return its index; None if none is free.

    Jobs that share GPUs fill one GPU before the next one, so that other GPUs stay free for jobs
    that need a whole GPU.
    """
    taken = (
        any(map(_lock, _slots(name)[:slots])) if slots > 1 else _lock_all(name) for name in names
    )
    return next((place for place, is_taken in enumerate(taken) if is_taken), None)


def _lock_all(name: str) -> bool:
    """Lock all slots of a GPU, or none of them; return whether they were free."""
    before = len(_sockets)
    if all(map(_lock, _slots(name))):
        return True
    while len(_sockets) > before:
        _sockets.pop().close()
    return False


def _slots(name: str) -> list[str]:
    return [name, *(f"{name} slot {number}" for number in range(1, MOST_SLOTS))]


def _lock(name: str) -> bool:
    """Try to lock a slot of a GPU by its name; return whether the slot was free."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0collateral/{name}")
    except OSError as error:
        lock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    _sockets.append(lock)
    return True

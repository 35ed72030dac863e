"""Locks on GPUs; the kernel releases a lock when its process ends in any way.

A lock is a socket that is bound to an abstract name, outside the file system: only one process of
all users can have the name. It works on Linux only. A GPU has several names, its slots: a job that
shares its GPU locks one slot, any other job locks all of them.
"""

import errno
import logging
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path

from collateral.results.record import MOST_SLOTS

LOG = logging.getLogger(__name__)
MOST_WAITING = 1024  # number of processes that can query the holder of a lock at the same time
# Sockets of the locks; they stay open, because closing a socket would release its lock.
_sockets: list[socket.socket] = []


def claim(names: Sequence[str], *, slots: int = 1, poll_seconds: float = 1.0) -> int:
    """Lock the first free GPU of `names` and return its index; wait if none is free.

    If `slots` is above 1, lock only one slot of the GPU, so that this number of jobs can share it.
    """
    is_waiting = False
    while (place := _lock_first(names, slots)) is None:
        if not is_waiting:
            LOG.info(
                "waiting: %s", "; ".join(f"{name} is held by {_holders(name)}" for name in names)
            )
            is_waiting = True
        time.sleep(poll_seconds)
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
        lock.bind(_address(name))
    except OSError as error:
        lock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    lock.listen(MOST_WAITING)
    _sockets.append(lock)
    return True


def _holders(name: str) -> str:
    """Describe the processes that hold slots of a GPU."""
    found = dict.fromkeys(holder for slot in _slots(name) if (holder := _holder(slot)))
    return ", ".join(found) or "a process that ends"


def _holder(name: str) -> str:
    """Describe the process that holds a slot of a GPU; empty if the slot is free."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_address(name))
        except OSError:
            return ""
        credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    process, _user, _group = struct.unpack("3i", credentials)
    return f"process {process} ({_command(process)})"


def _command(process: int) -> str:
    """Return the first words of the command line of a process, without folders."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "not to be seen from here"
    return " ".join(Path(word).name for word in words[:3])


def _address(name: str) -> str:
    return f"\0collateral/{name}"

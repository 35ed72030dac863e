"""Locks on what this machine has several of; a process that dies, however it dies, gives its up.

A lock is a socket bound to a name that exists nowhere in the file system: the kernel lets one
process have it, whosever it is, and takes it back with the process. Linux only.
"""

import errno
import logging
import socket
import struct
import time
from collections.abc import Sequence
from pathlib import Path

LOG = logging.getLogger(__name__)
MOST_WAITING = 1024  # processes that may ask who has a lock
_held: list[socket.socket] = []  # open as long as the process lives: to close one is to unlock


def claim(names: Sequence[str], *, poll_seconds: float = 1.0) -> int:
    """Return the place of the first of `names` that is free, and keep it; wait if none is."""
    is_waiting = False
    while (place := _lock_first(names)) is None:
        if not is_waiting:
            LOG.info(
                "waiting: %s", "; ".join(f"{name} is held by {_holder(name)}" for name in names)
            )
            is_waiting = True
        time.sleep(poll_seconds)
    return place


def _lock_first(names: Sequence[str]) -> int | None:
    """Lock the first name that nobody has locked and return its place, or None."""
    return next((place for place, name in enumerate(names) if _lock(name)), None)


def _lock(name: str) -> bool:
    """Lock a name, and from then on answer those who ask who did; tell whether it was free."""
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(_address(name))
    except OSError as error:
        lock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return False
    lock.listen(MOST_WAITING)
    _held.append(lock)
    return True


def _holder(name: str) -> str:
    """Describe the process that holds a lock."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_address(name))
        except OSError:
            return "a process that ends"
        credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    process, _user, _group = struct.unpack("3i", credentials)
    return f"process {process} ({_command(process)})"


def _command(process: int) -> str:
    """Return the first words of a process's command line, without folders."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "not to be seen from here"
    return " ".join(Path(word).name for word in words[:3])


def _address(name: str) -> str:
    return f"\0collateral/{name}"

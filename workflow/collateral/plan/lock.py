"""Who holds Snakemake's lock: it names files and no process, so each run signs for it.

A run that was killed leaves its lock, which may go if that process is surely gone.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from collateral.results.files import atomic

FOLDER = Path(".snakemake")
LOCKS = "locks"  # Snakemake's (9.27); in it are 0.input.lock, 0.output.lock
OWNERS = "collateral-owners"
PROC = Path("/proc")  # none on macOS: there nothing is ever known to be gone
STATE, STARTED = 0, 19  # in /proc/<pid>/stat, counted from behind the program's name
ENDED = "ZX"  # nobody has asked how it ended, and else it is no more
REMEDY = "if no snakemake works in this folder, `snakemake --unlock`"


@dataclass(frozen=True)
class Process:
    """A process, told apart from those of other machines and from later ones of its number."""

    pid: int
    started: str  # in clock ticks after the boot
    host: str
    boot: str
    space: str  # of process numbers: a container has its own

    @staticmethod
    def of(pid: int) -> Process:
        """Describe a process of this machine; what this machine does not tell is empty."""
        host = " ".join(filter(None, [platform.node(), _text(Path("/etc/machine-id"))]))
        boot, space = _text(PROC / "sys/kernel/random/boot_id"), _target(PROC / "self/ns/pid")
        return Process(pid, _status(pid)[1], host, boot, space)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"process {self.pid} of {self.host.partition(' ')[0]}"

    def is_gone(self) -> bool:
        """Tell whether it has surely ended."""
        here = Process.of(self.pid)
        if self.host != here.host or not (self.started and self.boot and here.boot):
            return False
        if self.boot != here.boot:
            return True
        return self.space == here.space and _has_ended(self.pid, self.started)


@dataclass(frozen=True)
class Owner:
    """A run of snakemake, and its locks: by name, when each was written."""

    process: Process
    locks: dict[str, int]


def sign(locks: Iterable[str], folder: Path = FOLDER) -> None:
    """Write down that these files are locks of this process."""
    names = {Path(path).name for path in locks}
    own = {name: written for name, written in _locks(folder).items() if name in names}
    with atomic(_signature(folder)) as temporary:
        owner = asdict(Owner(Process.of(os.getpid()), own))
        temporary.write_text(json.dumps(owner), encoding="utf-8")


def withdraw(folder: Path = FOLDER) -> None:
    """Take the signature of this process back: Snakemake itself removes its locks."""
    _signature(folder).unlink(missing_ok=True)


def unlock(folder: Path = FOLDER) -> list[str]:
    """Remove the locks of runs that are gone; return a line for each, and for who holds others."""
    locks, said = _locks(folder), []
    for path, owner in _owners(folder):
        held, name = owner.locks.items() & locks.items(), owner.process.name
        locks = dict(locks.items() - held)
        if not owner.process.is_gone():
            said += [f"locked by {name}, which may be running: wait for it; {REMEDY}"] * bool(held)
            continue
        for lock, _ in held:
            (folder / LOCKS / lock).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        said += [f"the lock of {name}, which was killed, is removed"] * bool(held)
    return said + [f"locked, and no run has signed for it: {REMEDY}"] * bool(locks)


def _locks(folder: Path) -> dict[str, int]:
    found = {}
    for path in (folder / LOCKS).glob("*.lock"):
        with suppress(FileNotFoundError):  # its run ends just now
            found[path.name] = path.stat().st_mtime_ns
    return found


def _owners(folder: Path) -> Iterator[tuple[Path, Owner]]:
    """Yield all signatures; one that cannot be read is none."""
    for path in sorted((folder / OWNERS).glob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            yield path, Owner(Process(**content["process"]), dict(content["locks"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue


def _signature(folder: Path) -> Path:
    return folder / OWNERS / f"{platform.node()}-{os.getpid()}.json"


def _has_ended(pid: int, started: str) -> bool:
    """Tell whether no process of this number has this start, or has it and is not yet buried."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # somebody else's
    state, found = _status(pid)
    return bool(found) and (found != started or state in ENDED)


def _status(pid: int) -> tuple[str, str]:
    """Return the state and the start of a process; empty where that cannot be read."""
    # The name of the program may hold spaces and brackets.
    words = _text(PROC / str(pid) / "stat").rpartition(")")[2].split()
    return (words[STATE], words[STARTED]) if len(words) > STARTED else ("", "")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""

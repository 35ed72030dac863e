"""The warm server: processes that have imported a stage, and fork its jobs.

The first one imports nothing. It forks one for all stages that only read and present, and one that
imports what is common to the stages that train, torch with it, and forks one for each of them. So
a job that trains begins with the memory of a plain process of its stage, whatever ran before it.

All live as long as their standard input is open, a pipe of the run's snakemake: gone with it,
however that ends. Jobs that are at work then are told to save what they have, and get time for it.
"""

import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from select import select

from collateral import cli
from collateral.warm.client import CODE_BYTES, as_ended
from collateral.warm.job import Job, close
from collateral.warm.pages import Span, file_pages, take

# The stages that import torch.
TRAINING = (
    *("expose", "given", "probe", "shadow", "support_size"),
    *("teacher", "train", "tune", "unlearn"),
)
COMMON = "collateral.training.session"  # what all of these import
SAVING_SECONDS = 30
STDIN = 0
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h


class Server:
    """Imports stages, forks a process for each client, and tells the client how it has ended."""

    def __init__(self, stages: dict[int, str]) -> None:
        """Serve some stages, each at the socket of this number."""
        self._listeners = {socket.socket(fileno=file): stage for file, stage in stages.items()}
        self._pages: list[Span] = []
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, socket.socket] = {}  # by the process of their job

    def serve(self) -> None:
        """Work until the run is gone; then give jobs time to save."""
        self._watch(STDIN, self._leave)
        for listener in self._listeners:
            self._watch(listener, partial(self._accept, listener))
        while self._listeners:
            self._wait()
        end = time.monotonic() + SAVING_SECONDS
        while self._clients and time.monotonic() < end:
            self._wait(end - time.monotonic())

    def _watch(self, file: socket.socket | int, action: Callable[[], None]) -> None:
        self._selector.register(file, selectors.EVENT_READ, action)

    def _wait(self, seconds: float | None = None) -> None:
        # One event at a time: what is done about it may make others void.
        for key, _ in self._selector.select(seconds)[:1]:
            key.data()

    def _accept(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        try:
            self._start(self._listeners[listener], client)
        except OSError:  # no more processes, say: one job is lost, and not all
            traceback.print_exc()
            client.close()

    def _start(self, stage: str, client: socket.socket) -> None:
        if warm_up(f"collateral.stages.{stage}"):
            self._pages = file_pages()
        job = Job.receive(client)
        if job is None:
            client.close()
            return
        process = forked(partial(_work, job, os.getpid()), self._pages)
        close(job.files)
        ending = os.pidfd_open(process)
        self._clients[process] = client
        self._watch(client, partial(self._pass_on, process))
        self._watch(ending, partial(self._tell, process, ending))

    def _pass_on(self, process: int) -> None:
        """Send a client's signals to its job; kill the job of a client that was killed."""
        client, numbers = self._clients[process], b""
        with suppress(OSError):
            numbers = client.recv(64)
        for number in numbers or [signal.SIGKILL]:
            os.kill(process, number)
        if not numbers:
            self._selector.unregister(client)

    def _tell(self, process: int, ending: int) -> None:
        """Tell a client how its job has ended."""
        client = self._clients.pop(process)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        self._selector.unregister(ending)
        os.close(ending)
        if client in self._selector.get_map():
            self._selector.unregister(client)
        with suppress(OSError):  # it may have been killed
            client.sendall(code.to_bytes(CODE_BYTES, "big", signed=True))
        client.close()

    def _leave(self) -> None:
        """Take no more clients; tell the jobs to end."""
        self._selector.unregister(STDIN)
        for listener in self._listeners:
            self._selector.unregister(listener)
        self._listeners = {}
        for process in self._clients:
            os.kill(process, signal.SIGTERM)


def warm_up(module: str) -> bool:
    """Import a module; tell whether it is new. If that fails, the job itself will say why."""
    if module in sys.modules:
        return False
    with suppress(Exception):
        import_module(module)
    gc.freeze()  # what is shared with the jobs stays shared
    return True


def _work(job: Job, server: int) -> int:
    """Be a job, which dies with the server: its client could not know of it any more."""
    return job.run() if _dies_with(server) else 1


def _dies_with(parent: int) -> bool:
    is_set = ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL) == 0
    return is_set and os.getppid() == parent  # which may be gone already


def forked(action: Callable[[], int], pages: list[Span]) -> int:
    """Fork a process that has these pages, does this, and ends, whatever happens."""
    process = os.fork()
    if not process:
        code = 1
        try:
            take(pages)
            code = action()
        except KeyboardInterrupt:
            traceback.print_exc()
            code = -signal.SIGINT
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(as_ended(code))
    return process


def serve(stages: dict[int, str], others: Iterable[int]) -> int:
    """Serve these stages in one process."""
    close(others)  # their clients would wait for us, should their own server die
    Server(stages).serve()
    return 0


def serve_apart(stages: dict[int, str], others: Iterable[int]) -> int:
    """Fork, for the first client of each stage, a process that serves this one."""
    close(others)
    waiting = dict(stages)
    while STDIN not in (asked := select([STDIN, *waiting], [], [])[0]):
        warm_up(COMMON)
        stage = waiting.pop(asked[0])
        forked(partial(serve, {asked[0]: stage}, [*waiting]), file_pages())
        os.close(asked[0])
    return 0


def check() -> None:
    """Try what jobs need: Linux has it since 5.14, but a filter may refuse it."""
    able, pages = partial(_dies_with, os.getpid()), file_pages()
    process = forked(lambda: 0 if able() and take(pages) else 1, [])
    os.close(os.pidfd_open(process))
    if os.waitpid(process, 0)[1]:
        raise OSError("no prctl, or no madvise")


def listen(address: Path) -> int:
    """Return a socket that listens at an address."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(address))
    listener.listen(1024)
    return listener.detach()


def main() -> None:
    """Serve in the folder that is the one argument."""
    folder = Path(sys.argv[1])
    os.setsid()  # a Ctrl-C is the clients', who pass it on
    try:
        check()
        stages = {listen(folder / stage): stage for stage in cli.stages()}
        training = {file: stage for file, stage in stages.items() if stage in TRAINING}
        others = {file: stage for file, stage in stages.items() if stage not in TRAINING}
        forked(partial(serve_apart, training, others), [])
        forked(partial(serve, others, training), [])
        close(stages)
        print("ready", flush=True)
        sys.stdin.read()
    except (AttributeError, OSError) as error:  # os has no pidfd_open but on Linux
        sys.exit(f"collateral: no warm workers here ({error}): each job imports for itself")
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


if __name__ == "__main__":
    main()

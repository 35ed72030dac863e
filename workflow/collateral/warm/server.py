"""The warm server: processes that have imported a stage, and fork its jobs.

The first one imports nothing: it has a socket for each stage, and waits for the first client of
each. For that it forks a process that imports the stage, or, for all stages that train, one that
imports torch and does likewise for them. So a job begins with the memory that a plain process of
its stage has, whatever ran before it.

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
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from select import select

from collateral import cli
from collateral.warm.client import CODE_BYTES, as_ended
from collateral.warm.job import Job, close
from collateral.warm.pages import Span, file_pages, take

TORCH = "torch"
TRAINING = ("support_size", "train", "tune", "unlearn")  # the stages that import it
SAVING_SECONDS = 30
STDIN = 0
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h


class Server:
    """Forks a process for each client of one stage, and tells the client how it has ended."""

    def __init__(self, listener: socket.socket) -> None:
        """Let jobs begin with what is imported now."""
        gc.collect()
        gc.freeze()  # what is shared with the jobs stays shared
        self._listener, self._pages = listener, file_pages()
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, socket.socket] = {}  # by the process of their job
        self._is_open = True

    def serve(self) -> None:
        """Work until the run is gone; then give jobs time to save."""
        self._watch(self._listener, self._accept)
        self._watch(STDIN, self._leave)
        while self._is_open:
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

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            self._start(client)
        except OSError:  # no more processes, say: one job is lost, and not all
            traceback.print_exc()
            client.close()

    def _start(self, client: socket.socket) -> None:
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
        self._is_open = False
        self._selector.unregister(STDIN)
        self._selector.unregister(self._listener)
        for process in self._clients:
            os.kill(process, signal.SIGTERM)


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


def wait_for_clients(stages: dict[int, str], needed: Callable[[str], str]) -> None:
    """For the first client at a socket, fork a process that imports what its stage needs."""
    pages = file_pages()
    while STDIN not in (asked := select([STDIN, *stages], [], [])[0]):
        module = needed(stages[asked[0]])
        taken = {file: stage for file, stage in stages.items() if needed(stage) == module}
        stages = {file: stage for file, stage in stages.items() if file not in taken}
        forked(partial(_take_over, module, taken, [*stages]), pages)
        close(taken)


def _take_over(module: str, stages: dict[int, str], others: list[int]) -> int:
    """Import this, and serve the stages that need it."""
    close(others)  # their clients would wait for us, should their own server die
    with suppress(Exception):  # the job itself will say what is wrong
        import_module(module)
    if module == TORCH:
        wait_for_clients(stages, _module_of)
    else:
        Server(*(socket.socket(fileno=file) for file in stages)).serve()
    return 0


def _module_of(stage: str) -> str:
    return f"collateral.stages.{stage}"


def _first_of(stage: str) -> str:
    return TORCH if stage in TRAINING else _module_of(stage)


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
        print("ready", flush=True)
        wait_for_clients(stages, _first_of)
    except (AttributeError, OSError) as error:  # os has no pidfd_open but on Linux
        sys.exit(f"collateral: no warm workers here ({error}): each job imports for itself")
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


if __name__ == "__main__":
    main()

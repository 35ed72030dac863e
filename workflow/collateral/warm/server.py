"""The warm server: two processes that import stages and fork a process for each job.

One process serves the jobs that train, the other one all other jobs. Therefore the memory of a
job that trains does not depend on the jobs that ran before it.

Both run while their standard input is open, which is a pipe from the run's snakemake process: they
end with it, however it ends. Jobs that still run then get a signal, and time to save a checkpoint.
"""

from __future__ import annotations

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
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

from collateral import cli
from collateral.jobs import stages_of_kinds
from collateral.results.record import FORKED
from collateral.warm.client import CODE_BYTES, end_like

STAGES = sorted((Path(__file__).parents[1] / "stages").glob("[!_]*.py"))
# Stages that import torch: their files import modules of `training`.
TRAINING = tuple(
    file.stem for file in STAGES if "from collateral.training" in file.read_text(encoding="utf-8")
)
NUM_FILES = 3  # number of standard files: input, output and error
SAVING_SECONDS = 30  # time that jobs have to save a checkpoint when the run ends
STDIN = 0
DIE_WITH_PARENT = 1  # value of PR_SET_PDEATHSIG in linux/prctl.h


@dataclass(frozen=True)
class Request:
    """A client's request for a job: arguments, folder, environment and standard files."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    files: list[int]

    @staticmethod
    def receive(client: socket.socket) -> Request | None:
        """Read the request of a client; None if the client was killed before it sent all."""
        head, files, _, _ = socket.recv_fds(client, CODE_BYTES, NUM_FILES)
        size = int.from_bytes(head, "big")
        body = client.recv(size, socket.MSG_WAITALL)
        if not size or len(body) < size or len(files) < NUM_FILES:
            close(files)
            return None
        count, *texts = body.decode(errors="surrogateescape").split("\0")
        arguments, (folder, *variables) = texts[: int(count)], texts[int(count) :]
        pairs = (variable.partition("=") for variable in variables)
        return Request(arguments, folder, {name: value for name, _, value in pairs}, files)

    def run(self) -> int:
        """Run the job in this process; return its exit code."""
        for number, file in enumerate(self.files):
            os.dup2(file, number)
        close(self.files)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update({**self.environment, FORKED: "1"})
        sys.argv = self.arguments
        try:
            cli.main()
        except SystemExit as error:
            return _exit_code(error)
        finally:
            sys.stdout.flush()
        return 0


def _exit_code(error: SystemExit) -> int:
    """Return the exit code that Python would use for a SystemExit; print its message, if any."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def close(files: Iterable[int]) -> None:
    """Close files, given by their descriptors."""
    for file in files:
        os.close(file)


class Server:
    """Imports stages, forks a job for each client, and sends the client the job's exit code."""

    def __init__(self, stages: dict[int, str]) -> None:
        """Create a server; `stages` is a dict from a socket's file descriptor to a stage name."""
        self._listeners = {socket.socket(fileno=file): stage for file, stage in stages.items()}
        self._selector = selectors.DefaultSelector()
        # Connection to the client of each running job, by process id of the job.
        self._clients: dict[int, socket.socket] = {}

    def serve(self) -> None:
        """Serve until the run ends; then give the running jobs time to save checkpoints."""
        self._watch(STDIN, self._stop)
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
        # Events are handled one at a time, because an action may make other events invalid.
        for key, _ in self._selector.select(seconds)[:1]:
            key.data()

    def _accept(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        try:
            self._start(self._listeners[listener], client)
        except OSError:  # The server continues after an error such as too many processes.
            traceback.print_exc()
            client.close()

    def _start(self, stage: str, client: socket.socket) -> None:
        warm_up(stage)
        request = Request.receive(client)
        if request is None:
            client.close()
            return
        process = fork(partial(_run, request, os.getpid()))
        close(request.files)
        ending = os.pidfd_open(process)
        self._clients[process] = client
        self._watch(client, partial(self._forward_signals, process))
        self._watch(ending, partial(self._send_exit_code, process, ending))

    def _forward_signals(self, process: int) -> None:
        """Forward the signals from a client to its job; kill the job if its client was killed."""
        client, numbers = self._clients[process], b""
        with suppress(OSError):
            numbers = client.recv(64)
        for number in numbers or [signal.SIGKILL]:
            os.kill(process, number)
        if not numbers:
            self._selector.unregister(client)

    def _send_exit_code(self, process: int, ending: int) -> None:
        """Send the exit code of a job to its client."""
        client = self._clients.pop(process)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        self._selector.unregister(ending)
        os.close(ending)
        if client in self._selector.get_map():
            self._selector.unregister(client)
        with suppress(OSError):  # The client may have been killed.
            client.sendall(code.to_bytes(CODE_BYTES, "big", signed=True))
        client.close()

    def _stop(self) -> None:
        """Accept no more clients, and send SIGTERM to the running jobs."""
        self._selector.unregister(STDIN)
        for listener in self._listeners:
            self._selector.unregister(listener)
        self._listeners = {}
        for process in self._clients:
            os.kill(process, signal.SIGTERM)


def warm_up(stage: str) -> None:
    """Import the module of a stage, and call the module's function `warm_up` if it has one.

    All stages that train are imported together, so that their jobs start equally.
    """
    stages = TRAINING if stage in TRAINING else (stage,)
    new = [name for one in stages if (name := f"collateral.stages.{one}") not in sys.modules]
    for module in new:
        with suppress(Exception):  # Errors are ignored here, because the job will raise them again.
            getattr(import_module(module), "warm_up", lambda: None)()
    if new:
        # Otherwise garbage collection in a job would copy memory shared with the server.
        gc.freeze()


def _run(request: Request, server: int) -> int:
    """Run the job; it is killed if the server dies, because its exit code could not be reported."""
    return request.run() if _dies_with(server) else 1


def _dies_with(parent: int) -> bool:
    """Let the kernel kill this process when its parent dies; return False if that fails."""
    is_set = ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL) == 0
    return is_set and os.getppid() == parent  # False if the parent died before this call.


def fork(action: Callable[[], int]) -> int:
    """Fork a process that runs `action` and exits, even after an error; return its process id."""
    process = os.fork()
    if not process:
        code = 1
        try:
            code = action()
        except KeyboardInterrupt:
            traceback.print_exc()
            code = -signal.SIGINT
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(end_like(code))
    return process


def serve(stages: dict[int, str], others: Iterable[int]) -> int:
    """Serve these stages in this process until the run ends."""
    # The other server's sockets are closed in this process.
    # Clients notice the death of a server only if no process has its sockets open.
    close(others)
    Server(stages).serve()
    return 0


def check() -> None:
    """Check that the system supports pidfd and prctl: Linux 5.3 or later without restrictions."""
    server = os.getpid()
    process = fork(lambda: 0 if _dies_with(server) else 1)
    os.close(os.pidfd_open(process))
    if os.waitpid(process, 0)[1]:
        raise OSError("no prctl")


def listen(address: Path) -> int:
    """Return the file descriptor of a socket that listens at an address."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(address))
    listener.listen(1024)
    return listener.detach()


def main() -> None:
    """Start both server processes; their sockets are in the folder given as the only argument."""
    folder = Path(sys.argv[1])
    # In a new session, Ctrl-C reaches only the clients, which forward it to their jobs.
    os.setsid()
    try:
        check()
        stages = {listen(folder / kind): stage for kind, stage in stages_of_kinds().items()}
        training = {file: stage for file, stage in stages.items() if stage in TRAINING}
        others = {file: stage for file, stage in stages.items() if stage not in TRAINING}
        fork(partial(serve, training, others))
        fork(partial(serve, others, training))
        close(stages)
        print("ready", flush=True)
        sys.stdin.read()
    except (AttributeError, OSError) as error:  # AttributeError: only Linux has os.pidfd_open.
        sys.exit(f"collateral: no warm workers here ({error}): each job imports for itself")
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


if __name__ == "__main__":
    main()

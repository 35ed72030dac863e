"""The warm server: it imports a stage once, and forks a process for each job of it.

It lives as long as its standard input is open, which is a pipe of the run's snakemake: gone with
it, however that ends. Jobs that are at work then are told to save what they have.
"""

from __future__ import annotations

import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from collateral import cli
from collateral.warm.client import CODE_BYTES

MOST_FILES = 3
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h


@dataclass(frozen=True)
class Job:
    """What a client asks for: its words, folder, environment and standard files."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    files: list[int]

    @staticmethod
    def receive(client: socket.socket) -> Job | None:
        """Read a client's request; None if it has gone."""
        head, files, _, _ = socket.recv_fds(client, CODE_BYTES, MOST_FILES)
        body = client.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
        if not body or len(files) < MOST_FILES:
            return None
        count, *texts = body.decode(errors="surrogateescape").split("\0")
        words, (folder, *variables) = texts[: int(count)], texts[int(count) :]
        pairs = (variable.partition("=") for variable in variables)
        return Job(words, folder, {name: value for name, _, value in pairs}, files)


class Server:
    """Waits for clients, forks for them, and tells them how their jobs have ended."""

    def __init__(self, address: str) -> None:
        """Listen."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(1024)
        self._selector = selectors.DefaultSelector()
        self._clients: dict[socket.socket, int] = {}  # with the process of their job
        self._endings: dict[int, socket.socket] = {}  # by a descriptor of the process

    def serve(self) -> None:
        """Work until standard input ends."""
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(sys.stdin, selectors.EVENT_READ, None)
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    self._leave()
                    return
                key.data(key.fileobj)

    def _accept(self, listener: socket.socket) -> None:
        client, _ = listener.accept()
        job = Job.receive(client)
        if job is None:
            client.close()
            return
        warm_up(job.words)
        process = os.fork()
        if not process:
            self._forget()
            _die_with_server()
            _work(job)
        for file in job.files:
            os.close(file)
        ending = os.pidfd_open(process)
        self._clients[client], self._endings[ending] = process, client
        self._selector.register(client, selectors.EVENT_READ, self._pass_on)
        self._selector.register(ending, selectors.EVENT_READ, self._tell)

    def _pass_on(self, client: socket.socket) -> None:
        """Send a client's signals to its job; kill the job of a client that was killed."""
        numbers = _received(client)
        for number in numbers:
            os.kill(self._clients[client], number)
        if not numbers:
            os.kill(self._clients[client], signal.SIGKILL)
            self._selector.unregister(client)

    def _tell(self, ending: int) -> None:
        """Tell a client how its job has ended."""
        client = self._endings.pop(ending)
        process = self._clients.pop(client)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        self._selector.unregister(ending)
        os.close(ending)
        if client in self._selector.get_map():
            self._selector.unregister(client)
            client.sendall(code.to_bytes(CODE_BYTES, "big", signed=True))
        client.close()

    def _leave(self) -> None:
        for process in self._clients.values():
            os.kill(process, signal.SIGTERM)

    def _forget(self) -> None:
        """Close, in a forked process, what is the server's."""
        self._selector.close()
        self._listener.close()
        for client in self._clients:
            client.close()
        for ending in self._endings:
            os.close(ending)


def warm_up(words: list[str]) -> None:
    """Import the stage that a job names; if that fails, the job itself will say why."""
    stage = next(iter(words[1:]), "")
    if stage in cli.stages() and f"collateral.stages.{stage}" not in sys.modules:
        try:
            import_module(f"collateral.stages.{stage}")
        except Exception:
            return
        gc.collect()
        gc.freeze()  # what is shared with the jobs stays shared


def _die_with_server() -> None:
    """Let the kernel end this process with its parent: its client could not know of it any more."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


def _received(client: socket.socket) -> bytes:
    try:
        return client.recv(64)
    except ConnectionError:
        return b""


def _work(job: Job) -> None:
    """Become the job: its files, folder, environment and words; never return."""
    for number, file in enumerate(job.files):
        os.dup2(file, number)
        os.close(file)
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(job.folder)
        os.environ.clear()
        os.environ.update(job.environment)
        sys.argv = job.words
        cli.main()
        code = 0
    except SystemExit as ended:
        code = _code(ended)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _code(ended: SystemExit) -> int:
    """Return the exit code, as Python itself does."""
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    print(ended.code, file=sys.stderr)
    return 1


def main() -> None:
    """Serve at the address that is the one argument."""
    address = Path(sys.argv[1])
    os.setsid()  # a Ctrl-C is the clients', who pass it on
    server = Server(str(address))
    print("ready", flush=True)
    try:
        server.serve()
    finally:
        address.unlink(missing_ok=True)
        address.parent.rmdir()


if __name__ == "__main__":
    main()

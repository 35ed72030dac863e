"""A job: what a client asks for, and the process that it becomes."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from collateral import cli
from collateral.warm.client import CODE_BYTES

NUM_FILES = 3


@dataclass(frozen=True)
class Job:
    """The words, folder, environment and standard files of a client."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    files: list[int]

    @staticmethod
    def receive(client: socket.socket) -> Job | None:
        """Read a client's request; None if it was killed before it had made it."""
        head, files, _, _ = socket.recv_fds(client, CODE_BYTES, NUM_FILES)
        size = int.from_bytes(head, "big")
        body = client.recv(size, socket.MSG_WAITALL)
        if not size or len(body) < size or len(files) < NUM_FILES:
            close(files)
            return None
        count, *texts = body.decode(errors="surrogateescape").split("\0")
        words, (folder, *variables) = texts[: int(count)], texts[int(count) :]
        pairs = (variable.partition("=") for variable in variables)
        return Job(words, folder, {name: value for name, _, value in pairs}, files)

    def run(self) -> int:
        """Be this process; return its exit code."""
        for number, file in enumerate(self.files):
            os.dup2(file, number)
        close(self.files)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        sys.argv = self.words
        try:
            cli.main()
        except SystemExit as ended:
            return _code(ended)
        finally:
            sys.stdout.flush()
        return 0


def _code(ended: SystemExit) -> int:
    """Return the exit code, as Python itself does."""
    if ended.code is None or isinstance(ended.code, int):
        return ended.code or 0
    print(ended.code, file=sys.stderr)
    return 1


def close(files: Iterable[int]) -> None:
    """Close files of which only the numbers are known."""
    for file in files:
        os.close(file)

"""The command `collateral`: run the stage here, or hand it to this run's warm server.

Little is imported: this runs once for every job.
"""

import os
import signal
import socket
import sys
from importlib import import_module
from types import FrameType

from collateral.warm import ADDRESS, OFF

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)
CODE_BYTES = 4


def main() -> None:
    """Run a stage."""
    folder, stage = os.environ.pop(ADDRESS, OFF), "".join(sys.argv[1:2])
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(f"{folder}/{stage}")
        except OSError:  # nobody is there, which is no reason not to work
            import_module("collateral.cli").main()
            return
        sys.exit(hand_over(server))


def hand_over(server: socket.socket) -> int:
    """Let the server fork a process with our words, folder, environment and files; stand for it."""
    environment = [f"{name}={value}" for name, value in os.environ.items()]
    # Not by pathlib, which takes as long to import as all else here.
    folder = os.getcwd()  # noqa: PTH109
    content = "\0".join([str(len(sys.argv)), *sys.argv, folder, *environment])
    body = content.encode(errors="surrogateescape")
    # Only with the first bytes can files be handed over.
    socket.send_fds(server, [len(body).to_bytes(CODE_BYTES, "big")], [0, 1, 2])
    server.sendall(body)

    def forward(number: int, _frame: FrameType | None) -> None:
        try:
            server.sendall(bytes([number]))
        except OSError:  # the job has ended, and its code is on the way
            return

    for number in FORWARDED:
        signal.signal(number, forward)
    answer = server.recv(CODE_BYTES, socket.MSG_WAITALL)
    if len(answer) < CODE_BYTES:
        print(f"collateral: its warm server is gone; {ADDRESS}={OFF} does without", file=sys.stderr)
        return 1
    return as_ended(int.from_bytes(answer, "big", signed=True))


def as_ended(code: int) -> int:
    """Return a job's exit code; where a signal ended it, end by the same."""
    if code < 0:
        if -code in FORWARDED:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code

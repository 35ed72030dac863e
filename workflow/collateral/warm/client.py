"""The command `collateral`: run a job in this process, or in a process of the run's warm server.

In a local run, jobs are forked from warm workers, processes that have imported their stage: a job
of a small experiment takes one second, but importing torch takes two and a half. If the environment
names a server, the client sends its job there and waits for it. SLURM jobs, and a plain `collateral
run`, import everything themselves. This module imports little, because it starts once per job.
"""

import os
import signal
import socket
import sys
from importlib import import_module
from types import FrameType

from collateral.results.job_text import ADDRESS, OFF, job_kind

# Signals that the client forwards to its job.
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP)
CODE_BYTES = 4  # bytes of an integer in the protocol: a message length or an exit code


def main() -> None:
    """Run a job in the warm server if the server is running, else in this process."""
    folder, kind = os.environ.pop(ADDRESS, OFF), job_kind(sys.argv[1:])
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(f"{folder}/{kind or OFF}")
        except OSError:  # No server listens for this kind of job.
            import_module("collateral.cli").main()
            return
        sys.exit(run_remotely(server))


def run_remotely(server: socket.socket) -> int:
    """Let the server fork a job with this process's arguments, folder, environment and stdio."""
    environment = [f"{name}={value}" for name, value in os.environ.items()]
    # pathlib is not used, because importing it takes as long as the rest of the client.
    folder = os.getcwd()  # noqa: PTH109
    content = "\0".join([str(len(sys.argv)), *sys.argv, folder, *environment])
    body = content.encode(errors="surrogateescape")
    try:
        # File descriptors are sent with the first bytes, because they cannot be sent alone.
        socket.send_fds(server, [len(body).to_bytes(CODE_BYTES, "big")], [0, 1, 2])
        server.sendall(body)
        answer = _wait_for_code(server)
    except OSError:  # The server was killed before it read the request.
        answer = b""
    if len(answer) < CODE_BYTES:
        print(f"collateral: its warm server is gone; {ADDRESS}={OFF} does without", file=sys.stderr)
        return 1
    return end_like(int.from_bytes(answer, "big", signed=True))


def _wait_for_code(server: socket.socket) -> bytes:
    """Return the job's exit code as bytes; forward signals to the job until it ends."""

    def forward(number: int, _frame: FrameType | None) -> None:
        try:
            server.sendall(bytes([number]))
        except OSError:  # The job has ended, so that no signal can be sent to it.
            return

    for number in FORWARDED:
        signal.signal(number, forward)
    return server.recv(CODE_BYTES, socket.MSG_WAITALL)


def end_like(code: int) -> int:
    """Return a job's exit code; if a signal ended the job, end this process by the same signal."""
    if code < 0:
        if -code in FORWARDED:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code

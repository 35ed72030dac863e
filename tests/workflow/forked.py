"""Server that imports snakemake once and runs every command in a fork of itself.

A request is one line of JSON on standard input: the words of a command, the folder to run it in,
and its environment. The answer is one line of JSON on standard output: exit code, output, errors.
A dry run of a small config takes half the time that way, as importing snakemake is the other half.
The package `collateral` is imported in the fork, from the PYTHONPATH of the request, unless a
module of it is among the arguments of the server.
"""

import json
import os
import sys
import tempfile
from importlib import import_module

from snakemake import cli

for module in ("snakemake.report", "pulp", "yaml", *sys.argv[1:]):  # imported late by snakemake
    import_module(module)


def answer(request: dict) -> dict:
    """Run a command in a fork and wait for its end."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            run(request, output.fileno(), errors.fileno())
        _, status = os.waitpid(child, 0)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return {"code": os.waitstatus_to_exitcode(status), "output": texts[0], "errors": texts[1]}


def run(request: dict, output: int, errors: int) -> None:
    """Run a command in this process, which ends with it."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
    program, *words = sys.argv = request["words"]
    main = import_module("collateral.cli").main if program == "collateral" else cli.main
    main(words)
    sys.exit()


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)

"""Run many commands from one process that has their programs imported, each in a fork of its own.

A list of commands comes by standard input, each a list of words; for each, its exit code and what
it said go to standard output, as JSON. Importing takes longer than most of the commands.
"""

import json
import os
import sys
import tempfile
from importlib import import_module

from snakemake import cli as snakemake

from collateral import cli as collateral

PROGRAMS = {"snakemake": snakemake.main, "collateral": collateral.main}
# What they import late.
for module in ("collateral.config.load", "collateral.plan.jobs", "snakemake.report"):
    import_module(module)


def run(words: list[str]) -> dict[str, int | str]:
    """Run a command; wait for its end."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            for stream in (1, 2):
                os.dup2(said.fileno(), stream)
            sys.argv = words
            PROGRAMS[words[0]](words[1:])
            sys.exit()
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return {"code": os.waitstatus_to_exitcode(status), "said": said.read().decode()}


if __name__ == "__main__":
    json.dump([run(words) for words in json.load(sys.stdin)], sys.stdout)

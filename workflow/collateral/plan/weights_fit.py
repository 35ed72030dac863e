"""Whether weights of the user's own fit the model, before any job.

Names and shapes of a model are torch's to tell, which the Snakefile does not import: a process of
its own compares them, where files are about to be used.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from collateral.contract.plugins import MODEL
from collateral.plan.grid import Benchmark
from collateral.plan.workload import SizeUnknownError, workload_of

COMMAND = "from collateral.cli import main; main()"


@dataclass(frozen=True)
class OwnFile:
    """A file of weights, the key that names it, and how to read its names."""

    key: str  # in the benchmark
    file: Path
    rename: Mapping[str, str] = field(default_factory=dict, hash=False)


def misfits(benchmark: Benchmark, files: Sequence[OwnFile]) -> Iterator[str]:
    """Yield what does not fit; nothing where there is no torch, or the size of data is unknown."""
    if not files or find_spec("torch") is None:
        return
    try:
        size = workload_of(benchmark).size
    except SizeUnknownError:
        return
    folders = [str(Path(path).parent) for path in MODEL.paths[1:]]
    options = ["--model", benchmark.config.model, "--num-classes", str(size.num_classes)]
    options += ["--shape", *map(str, size.shape), "--plugins", *folders]
    asked = [[one.key, str(one.file.expanduser()), dict(one.rename)] for one in files]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "weights", *options],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    yield from (f"benchmarks.{benchmark.name}.{line}" for line in done.stdout.splitlines())

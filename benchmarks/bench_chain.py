"""The cost of hashes and records: the share of the jobs' CPU seconds in results/provenance.py.

    python benchmarks/bench_chain.py [--quick]

The smoke config runs from an empty folder; its jobs are so short that the share is larger than in
other configs. Every job is a process of its own; the time of imports does not count.
"""

import inspect
import sys
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import process_time
from typing import Any

import yaml
from bench_cell import config_of
from measure import ROOT, Row, environment, run, run_program

from collateral import cli
from collateral.jobs import stages_of_kinds
from collateral.plugins.find import STAGE
from collateral.results import provenance
from collateral.results.job_text import job_kind
from collateral.warm.client import ADDRESS, OFF

COMMAND = """#!{python}
import sys
sys.path.insert(0, {here!r})
from bench_chain import job
job({out!r})
"""


class Timer:
    """Measures the CPU seconds inside some functions; nested calls count once."""

    def __init__(self) -> None:
        """Start at zero seconds."""
        self.seconds, self._is_running = 0.0, False

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time measured."""

        @wraps(function)
        def timed(*args: Any, **options: Any) -> Any:
            if self._is_running:
                return function(*args, **options)
            self._is_running, start = True, process_time()
            try:
                return function(*args, **options)
            finally:
                self._is_running = False
                self.seconds += process_time() - start

        return timed


def job(out: str) -> None:
    """Run a stage as `collateral` does; append its CPU seconds and those of hashing to a file."""
    timer, stage = Timer(), stages_of_kinds()[job_kind(sys.argv[1:])]
    for name, function in inspect.getmembers(provenance, inspect.isfunction):
        if function.__module__ == provenance.__name__ and not name.startswith("_"):
            setattr(provenance, name, timer.of(function))
    STAGE.load(stage)
    start = process_time()
    cli.main()
    with Path(out).open("a") as file:
        file.write(f"{stage} {process_time() - start} {timer.seconds}\n")


def seconds_of(config: Path, folder: Path) -> list[tuple[str, float, float]]:
    """Run a config in an empty folder; return every job's stage, CPU and hashing seconds."""
    out, command = folder / "seconds", folder / "bin" / "collateral"
    command.parent.mkdir()
    here = str(Path(__file__).parent)
    command.write_text(COMMAND.format(python=sys.executable, here=here, out=str(out)))
    command.chmod(0o755)
    words = "snakemake", "--cores", "all", "--directory", folder, "--configfile", config
    run_program(*words, env=environment(command.parent, **{ADDRESS: OFF}))
    lines = map(str.split, out.read_text().splitlines())
    return [(stage, float(whole), float(part)) for stage, whole, part in lines]


def measure(quick: bool) -> list[Row]:
    """Return the share of hashing over all jobs; print the share by stage."""
    with tempfile.TemporaryDirectory() as name:
        config = ROOT / "configs" / "smoke.yaml"
        if quick:
            config = Path(name) / "quick.yaml"
            config.write_text(yaml.safe_dump(config_of(quick)))
        jobs = seconds_of(config, Path(name))
    for stage in dict.fromkeys(stage for stage, _, _ in jobs):
        whole, part = _sums([job for job in jobs if job[0] == stage])
        print(f"{stage}: {part:.3f} of {whole:.2f} s")
    whole, part = _sums(jobs)
    note = f"{part:.2f} of {whole:.1f} CPU s, {len(jobs)} jobs"
    return [Row("hashes and records / all that jobs do", [part / whole], at_most=0.02, note=note)]


def _sums(jobs: list[tuple[str, float, float]]) -> tuple[float, float]:
    return sum(whole for _, whole, _ in jobs), sum(part for _, _, part in jobs)


if __name__ == "__main__":
    run(measure, __doc__)

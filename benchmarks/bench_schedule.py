"""CPU time of the snakemake process for many short jobs, with and without our profile.

    python benchmarks/bench_schedule.py [--quick]

It runs 1,000 jobs that sleep for a second, ten at a time. Measured are the CPU seconds of snakemake
without its jobs, and the seconds from the end of the last job to the exit of snakemake. The reason
for our settings is in docs/scale.md.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measure import ROOT, Row, run, run_program

PLAIN = ("--workflow-profile", "none")
OURS = ("--workflow-profile", str(ROOT / "profiles" / "default"))
SNAKEFILE = """
import atexit
import time
from pathlib import Path

from collateral.plan.run_hooks import cancel_timers

atexit.register(lambda: Path("cpu").write_text(str(time.process_time())))

rule all:
    input:
        expand("{job}.done", job=range(config["jobs"])),

rule sleep:
    output:
        touch("{job}.done"),
    shell:
        "sleep {config[seconds]}"

onsuccess:
    cancel_timers()
"""


@dataclass(frozen=True)
class Cost:
    """Cost of a run: CPU seconds of snakemake, and seconds from the last job to the exit."""

    cpu: float
    exit: float


def cost(jobs: int, seconds: int, options: tuple[str, ...]) -> Cost:
    """Run a number of sleeping jobs, and return the cost."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "Snakefile").write_text(SNAKEFILE)
        words = *options, "--config", f"jobs={jobs}", f"seconds={seconds}", "--cores", "10"
        run_program("snakemake", *words, cwd=folder)
        last = max(file.stat().st_mtime for file in folder.glob("*.done"))
        return Cost(float((folder / "cpu").read_text()), time.time() - last)


def measure(quick: bool) -> list[Row]:
    """Run with our profile and with Snakemake's defaults, in turns."""
    jobs, seconds, repeats = (10, 0, 1) if quick else (1000, 1, 2)
    turns = [[cost(jobs, seconds, options) for options in (OURS, PLAIN)] for _ in range(repeats)]
    ours, plain = zip(*turns, strict=True)
    what = f"{jobs:,} jobs of {seconds} s"
    note = f"with Snakemake's defaults {max(each.cpu for each in plain):.0f}"
    return [
        Row(f"{what}: CPU seconds of snakemake", [c.cpu for c in ours], at_most=30, note=note),
        Row(f"{what}: seconds from the last to the exit", [c.exit for c in ours], at_most=2),
    ]


if __name__ == "__main__":
    run(measure, __doc__)

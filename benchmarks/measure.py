"""Functions for all benchmarks: measure competitors in turns, compute ratios, print a table."""

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from os import cpu_count, sysconf, times
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = Path(sys.executable).parent  # programs of this environment, which may not be activated
HEADER = ("what", "target", "median", "from", "to", "in CPU seconds", "reached", "note")


@dataclass(frozen=True)
class Seconds:
    """Wall-clock seconds, and CPU seconds of all cores together."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    """One row of the table: a number that was measured several times, and its target."""

    what: str
    values: list[float]
    at_least: float | None = None
    at_most: float | None = None
    cpu_values: list[float] = field(default_factory=list)  # ratios of CPU seconds
    note: str = ""

    @property
    def target(self) -> str:
        """The target as text; empty without a target."""
        if self.at_least is not None:
            return f">= {self.at_least:g}"
        return "" if self.at_most is None else f"<= {self.at_most:g}"

    @property
    def is_reached(self) -> bool | None:
        """Whether the median reaches the target; None without a target."""
        if self.at_least is not None:
            return median(self.values) >= self.at_least
        return None if self.at_most is None else median(self.values) <= self.at_most

    def fields(self) -> tuple[str, ...]:
        """Return the cells of the row as texts, in the order of HEADER."""
        middle, low, high = median(self.values), min(self.values), max(self.values)
        numbers = [_short(value) for value in (middle, low, high)]
        cpu = _short(median(self.cpu_values)) if self.cpu_values else ""
        reached = {True: "yes", False: "NO", None: ""}[self.is_reached]
        return self.what, self.target, *numbers, cpu, reached, self.note


def timed(work: Callable[[], object]) -> Seconds:
    """Run `work` and return its time, including the CPU seconds of child processes."""
    start, before = perf_counter(), times()
    work()
    wall, after = perf_counter() - start, times()
    return Seconds(wall, sum(after[:4]) - sum(before[:4]))


def in_turns(
    contestants: Mapping[str, Callable[[], object]], repeats: int, *, warm_up: bool = True
) -> dict[str, list[Seconds]]:
    """Run all competitors in every repeat, so that both times of a ratio are close together."""
    if warm_up:
        for work in contestants.values():
            work()
    rounds = [{name: timed(work) for name, work in contestants.items()} for _ in range(repeats)]
    return {name: [seconds[name] for seconds in rounds] for name in contestants}


def ratio(what: str, upper: Iterable[Seconds], lower: Iterable[Seconds], **options: Any) -> Row:
    """Return a row with the ratio of the times of `upper` and `lower`."""
    pairs = list(zip(upper, lower, strict=True))
    walls = [one.wall / other.wall for one, other in pairs]
    # The system counts CPU time in hundredths of a second.
    cpus = [one.cpu / max(other.cpu, 0.01) for one, other in pairs]
    return Row(what, walls, cpu_values=cpus, **options)


def cpu_ratio(what: str, upper: Iterable[Seconds], lower: Iterable[Seconds], **options: Any) -> Row:
    """Return a row with the ratio of CPU seconds, which also holds on a busy machine."""
    row = ratio(what, upper, lower, **options)
    return replace(row, values=row.cpu_values, cpu_values=[])


def table(rows: Iterable[Row]) -> str:
    """Return the rows as an aligned Markdown table."""
    lines = [HEADER, *(row.fields() for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
    texts = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([texts[0], rule, *texts[1:]])


def environment(*folders: Path, **variables: str) -> dict[str, str]:
    """Return environment variables with `folders` and this environment's programs on the PATH."""
    path = os.pathsep.join([*map(str, folders), str(PROGRAMS), os.environ["PATH"]])
    return os.environ | {"PATH": path, **variables}


def run_program(*words: object, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """Run a program and return its output; raise an error with the output if it fails."""
    command = [str(word) for word in words]
    env = env or environment()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


class Load:
    """Measures how many cores other processes have used since the beginning."""

    def __init__(self) -> None:
        """Start the measurement."""
        self._start, self._busy, self._own = perf_counter(), _busy_seconds(), sum(times()[:4])

    def __str__(self) -> str:
        """Return the load as text."""
        wall = perf_counter() - self._start
        busy, own = _busy_seconds() - self._busy, sum(times()[:4]) - self._own
        others = max(0.0, busy - own) / wall
        return f"{cpu_count()} cores, of which other processes used {others:.1f}; {wall:.0f} s"


def run(measure: Callable[[bool], list[Row]], description: str | None) -> None:
    """Measure with the options of the command line, and print or write the rows."""
    parser = ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--json", type=Path, help="file to write the rows to, for all.py")
    args = parser.parse_args()
    load = Load()
    rows = measure(args.quick)
    print(table(rows))
    print(load, flush=True)
    write(rows, args.json)


def write(rows: Iterable[Row], path: Path | None) -> None:
    """Write the rows as JSON, which all.py reads; do nothing without a path."""
    if path:
        path.write_text(json.dumps([asdict(row) for row in rows]))


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _busy_seconds() -> float:
    """Return the busy seconds of all cores together; 0 if the system does not report them."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    ticks = [int(field) for field in stat.read_text().splitlines()[0].split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / sysconf("SC_CLK_TCK")

"""Cost of the default run from an empty folder, by stage, and the time until the first page.

    python benchmarks/bench_run.py [--quick] [--before COMMIT] [--repeats 3]

CPU seconds are those of snakemake and of all processes that it starts. With --before, another
commit runs its own config in turns with this one, each in its own clone. Seconds by stage are read
from the last line of each log; the rest is spent on starting, waiting and writing.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from measure import PROGRAMS, ROOT, Load, Row, Seconds, environment, ratio, table, write

DEFAULT, SMOKE = "config.yaml", "configs/smoke.yaml"
# The command `collateral` of a clone, for any commit.
COMMAND = f"#!{sys.executable}\nfrom {{module}} import main\nmain()\n"
MODULES = {"workflow/collateral/warm/client.py": "collateral.warm.client"}
BECOME_PARENT_OF_ORPHANS = 36  # value of PR_SET_CHILD_SUBREAPER in linux/prctl.h
LAST_LINE = re.compile(r"collateral (\w+): ([\d.]+) s of CPU")


@dataclass(frozen=True)
class Cost:
    """Cost of a run, the time until its first page, and the CPU seconds of its parts."""

    total: Seconds
    first_page: float
    parts: dict[str, float]


def clone(commit: str, folder: Path) -> Path:
    """Clone the repository at a commit, with its command in bin/."""
    subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "checkout", "-q", commit], check=True)
    (folder / "bin").mkdir()
    module = next((name for path, name in MODULES.items() if (folder / path).exists()), None)
    command = folder / "bin" / "collateral"
    command.write_text(COMMAND.format(module=module or "collateral.cli"))
    command.chmod(0o755)
    return folder


def cost(folder: Path, config: str) -> Cost:
    """Run the config of a clone in an empty folder, and return the cost."""
    for name in ("results", "logs", ".snakemake"):
        shutil.rmtree(folder / name, ignore_errors=True)
    variables = environment(folder / "bin", PYTHONPATH=str(folder / "workflow"))
    words = [str(PROGRAMS / "snakemake"), "--cores", "all", "--configfile", config]
    before, start, began = os.times(), time.perf_counter(), time.time()
    snakemake = subprocess.Popen(
        words, cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    lasting = _watched(snakemake)
    wall = time.perf_counter() - start
    if snakemake.returncode:
        raise RuntimeError(f"{folder}: snakemake ended with {snakemake.returncode}")
    _wait_for_orphans()
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    page = min(path.stat().st_mtime for path in folder.glob("results/**/report.html"))
    return Cost(Seconds(wall, cpu), page - began, _parts(folder, lasting, cpu))


def _watched(snakemake: subprocess.Popen[bytes]) -> dict[str, float]:
    """Wait for the process to end; return its CPU seconds and those of its warm server."""
    seconds = {}
    while snakemake.poll() is None:
        seconds["snakemake"] = _cpu(snakemake.pid)
        for child in _children(snakemake.pid):
            if "collateral.warm.server" in _words(child):
                seconds["warm server"] = _cpu(child)
        time.sleep(0.5)
    return {name: value for name, value in seconds.items() if value}


def _parts(folder: Path, lasting: dict[str, float], total: float) -> dict[str, float]:
    stages: dict[str, float] = defaultdict(float)
    for log in folder.glob("logs/**/*.log"):
        for stage, seconds in LAST_LINE.findall(log.read_text()):
            stages[stage] += float(seconds)
    known = {**dict(sorted(stages.items())), **lasting}
    return {**known, "starting and standing for jobs (rest)": total - sum(known.values())}


def _cpu(process: int) -> float:
    """Return the CPU seconds of a process without its children; 0 if the process has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children(process: int) -> list[int]:
    try:
        return [
            int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        ]
    except OSError:
        return []


def _words(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def _wait_for_orphans() -> None:
    """Wait for processes that the run has left behind, so that their CPU seconds are counted."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def measure(folder: Path, config: str, before: str | None, repeats: int) -> list[Row]:
    """Run this commit in turns with `before`; print the seconds of each by stage."""
    ctypes.CDLL(None).prctl(BECOME_PARENT_OF_ORPHANS, 1)
    commits = {"now": "HEAD", **({"before": before} if before else {})}
    clones = {name: clone(commit, folder / name) for name, commit in commits.items()}
    turns = [{name: cost(at, config) for name, at in clones.items()} for _ in range(repeats)]
    for name in commits:
        print(
            f"{name}:", *(f"  {k}: {v:.1f} s" for k, v in turns[-1][name].parts.items()), sep="\n"
        )
    now = [turn["now"] for turn in turns]
    run = f"snakemake --configfile {config}"
    rows = [
        Row(f"{run}: CPU seconds", [one.total.cpu for one in now]),
        Row(f"{run}: seconds on the wall", [one.total.wall for one in now]),
        Row(f"{run}: seconds to the first page", [one.first_page for one in now]),
    ]
    if before:
        then = [turn["before"].total for turn in turns]
        rows.append(ratio(f"{run}: this commit / {before}", [one.total for one in now], then))
    return rows


def main() -> None:
    """Measure with the options of the command line."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="configs/smoke.yaml: does it run?")
    parser.add_argument("--before", help="a commit to compare with")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the clones, which stay there")
    parser.add_argument("--json", type=Path, help="file to write the rows to, for all.py")
    args = parser.parse_args()
    load = Load()
    with tempfile.TemporaryDirectory() as temporary:
        folder, config = args.keep or Path(temporary), SMOKE if args.quick else DEFAULT
        rows = measure(folder, config, args.before, args.repeats)
    print(table(rows), load, sep="\n", flush=True)
    write(rows, args.json)


if __name__ == "__main__":
    main()

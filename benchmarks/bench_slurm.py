"""Overhead of a SLURM job besides its work, measured on short trainings one after the other.

    envs/slurm/cluster up; python benchmarks/bench_slurm.py [--jobs 6]; envs/slurm/cluster down

The processes of a job are observed while they run, so this script must run on the same node. The
table has CPU seconds and wall-clock seconds: a busy machine makes only the latter longer.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from dataclasses import dataclass
from datetime import datetime
from os import getloadavg
from pathlib import Path
from statistics import mean

import psutil
import yaml

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("Snakefile", "envs", "profiles", "workflow")
NOT_OVERHEAD = ("waits in the queue", "trains")


@dataclass
class Seen:
    """A process: the times at which it was seen first and last, and its CPU seconds."""

    came: float
    left: float
    cpu: float


def config_of(num_jobs: int) -> dict:
    """Return a config with `num_jobs` small base models, one per seed."""
    benchmark = {
        "data": {"name": "synthetic"},
        "model": "mlp",
        "base": {"epochs": 1},
        "seeds": list(range(num_jobs)),
        "classes": [0],
        "fractions": [0.5],
        "methods": {"ft": {}},
    }
    return {"benchmarks": {"toy": benchmark}}


def run(folder: Path, num_jobs: int) -> dict[tuple[str, str], Seen]:
    """Train the base models on the cluster, one at a time; return the processes of each job."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    (folder / "toy.yaml").write_text(yaml.safe_dump(config_of(num_jobs)))
    targets = [f"results/toy/base/seed-{seed}/model.safetensors" for seed in range(num_jobs)]
    options = ["--configfile", "toy.yaml", "--workflow-profile", "profiles/slurm", "--jobs", "1"]
    seen: dict[tuple[str, str], Seen] = {}
    with subprocess.Popen(["snakemake", *targets, *options], cwd=folder) as snakemake:
        while snakemake.poll() is None:
            look(seen)
            time.sleep(0.05)
    assert snakemake.returncode == 0
    return seen


def look(seen: dict[tuple[str, str], Seen]) -> None:
    """Record the processes of jobs that are running now."""
    for process in psutil.process_iter():
        try:
            kind = kind_of(process)
            if kind and (job := process.environ().get("SLURM_JOB_ID")):
                came = process.create_time()
                first = seen.setdefault((job, kind), Seen(came, came, 0))
                cpu = process.cpu_times()
                first.left, first.cpu = time.time(), cpu.user + cpu.system
        except psutil.Error:
            continue  # The process has ended.


def kind_of(process: psutil.Process) -> str | None:
    """Return the role of a process within a job."""
    words = process.cmdline()
    if process.name() == "srun":
        return "srun"
    if "--checkpoints" in words:
        return "training"
    if "--target-jobs" in words:
        return "outer" if "slurm-jobstep" in words else "inner"
    return None


def phases_of(
    cost: Path, seen: dict[tuple[str, str], Seen], told: dict[str, list[float]]
) -> dict[str, tuple[float, float]]:
    """Return the wall-clock seconds and CPU seconds of each phase of a job."""
    wrote = json.loads(cost.read_text())
    job, work = wrote["job"], wrote["total_seconds"]
    outer, srun, inner, training = (
        seen[job, kind] for kind in ("outer", "srun", "inner", "training")
    )
    submit, start, end = slurm_times(job)
    ready, finished = told[cost.parent.name.removeprefix("seed-")]
    return {
        "is submitted": (submit - ready, 0),
        "waits in the queue": (start - submit, 0),
        "SLURM starts it": (outer.came - start, 0),
        "snakemake starts": (srun.came - outer.came, outer.cpu),
        "srun starts the step": (inner.came - srun.came, 0),
        "snakemake starts once more": (training.came - inner.came, inner.cpu),
        "Python, torch, data and outputs": (
            training.left - training.came - work,
            training.cpu - work,
        ),
        "trains": (work, work),
        "both snakemakes end, SLURM closes it": (end - training.left, 0),
        "is seen by the login node": (finished - end, 0),
    }


def slurm_times(job: str) -> list[float]:
    """Return the times at which SLURM received, started and ended a job."""
    command = ["scontrol", "--oneliner", "show", "job", job]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = [re.search(rf"{word}Time=(\S+)", shown)[1] for word in ("Submit", "Start", "End")]
    return [datetime.fromisoformat(when).timestamp() for when in found]


def told_by_snakemake(folder: Path) -> dict[str, list[float]]:
    """Return the times at which Snakemake submitted a job and noticed its end, by seed."""
    (log,) = (folder / ".snakemake/log").glob("*.log")
    told: dict[str, list[float]] = {}
    seeds = {}
    blocks = re.split(r"^\[(.*)\]$", log.read_text(), flags=re.MULTILINE)
    for stamp, block in zip(blocks[1::2], blocks[2::2], strict=True):
        when = datetime.strptime(stamp, "%a %b %d %H:%M:%S %Y").timestamp()
        if block.startswith("\nrule base:"):
            seed = re.search(r"seed=(\d+)", block)[1]
            seeds[re.search(r"jobid: (\d+)", block)[1]] = seed
            told[seed] = [when]
        elif (found := re.match(r"\nFinished jobid: (\d+)", block)) and found[1] in seeds:
            told[seeds[found[1]]].append(when)
    return told


def main() -> None:
    """Print the mean seconds of each phase."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=6)
    args = parser.parse_args()
    if not shutil.which("sinfo") or subprocess.run(["sinfo"], check=False).returncode != 0:
        print("no SLURM answers here")
        sys.exit()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        seen = run(folder, args.jobs)
        told = told_by_snakemake(folder)
        costs = sorted(folder.glob("results/toy/base/*/cost.json"))
        jobs = [phases_of(cost, seen, told) for cost in costs]
    assert len(jobs) == args.jobs
    print(f"Mean seconds of {args.jobs} jobs, and CPU seconds; load {getloadavg()[0]:.1f}")
    for phase in jobs[0]:
        show(phase, [job[phase] for job in jobs])
    overhead = [tuple(sum(column) for column in zip(*counted(job), strict=True)) for job in jobs]
    show("overhead in all", overhead)


def counted(job: dict[str, tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the wall-clock and CPU seconds of the phases of a job that are overhead."""
    return [both for phase, both in job.items() if phase not in NOT_OVERHEAD]


def show(what: str, both: list[tuple[float, float]]) -> None:
    """Print the mean wall-clock and CPU seconds of one phase over all jobs."""
    wall, cpu = (mean(column) for column in zip(*both, strict=True))
    print(f"{wall:7.1f} {cpu:7.1f}  {what}")


if __name__ == "__main__":
    main()

"""How long Snakemake takes to plan a run: a dry run of more and more jobs.

    python benchmarks/bench_dag.py [--jobs 1000 10000]

The default config's methods on many synthetic classes, five seeds, in an empty folder. CPU seconds
of the one process, and seconds on the wall. A busy machine stretches CPU seconds too, by its caches
and where two cores are halves of one.
"""

import re
import resource
import shutil
import subprocess
import tempfile
from argparse import ArgumentParser
from math import ceil
from pathlib import Path
from time import perf_counter

import yaml

ROOT = Path(__file__).resolve().parents[1]
NUM_SEEDS = 5
FRACTIONS = [0.5, 0.9]
FAMILY = 10  # classes in a family


def config_of(num_classes: int) -> dict:
    """Return the default config's first benchmark on so many classes of synthetic data."""
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    benchmark = next(iter(default["benchmarks"].values()))
    benchmark["data"] = {
        "name": "synthetic",
        "families": max(2, ceil(num_classes / FAMILY)),
        "classes_per_family": FAMILY,
    }
    # What names cells or classes of digits.
    for key in ("cells", "sweeps", "support_size"):
        benchmark.pop(key, None)
    benchmark["classes"] = list(range(num_classes))
    benchmark["fractions"] = FRACTIONS
    benchmark["seeds"] = list(range(NUM_SEEDS))
    return {"benchmarks": {"many": benchmark}}


def plan(num_classes: int) -> tuple[int, float, float]:
    """Return the number of jobs of a dry run, its CPU seconds, and those on the wall."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "many.yaml"
        config.write_text(yaml.safe_dump(config_of(num_classes)))
        command = ["snakemake", "--dry-run", "--directory", folder, "--configfile", str(config)]
        before, start = _cpu_seconds(), perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        wall, cpu = perf_counter() - start, _cpu_seconds() - before
    found = re.search(r"^total +(\d+)$", done.stdout + done.stderr, re.MULTILINE)
    assert found, "a dry run ends with a table of jobs"
    return int(found[1]), cpu, wall


def main() -> None:
    """Plan runs of about so many jobs."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1000, 10_000])
    args = parser.parse_args()
    assert shutil.which("snakemake"), "snakemake is not on the PATH; see `make setup`"
    few, cpu, _ = plan(1)
    shared, _, _ = plan(2)
    per_class = shared - few
    print(f"{few} jobs: {cpu:.1f} s CPU, nearly all of it to start")
    for jobs in args.jobs:
        total, seconds, wall = plan(1 + ceil((jobs - few) / per_class))
        each = 1000 * (seconds - cpu) / (total - few)
        print(f"{total} jobs: {seconds:.1f} s CPU ({wall:.1f} s), {each:.2f} ms a job", flush=True)


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

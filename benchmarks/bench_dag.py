"""Time that Snakemake needs to plan a run: dry runs with growing numbers of jobs.

    python benchmarks/bench_dag.py [--jobs 1000 10000]

The methods of the default config run on many synthetic classes with five seeds, in an empty folder,
tracked.
The table has CPU seconds of the process and wall-clock seconds. On a busy machine CPU seconds grow
too, because of shared caches and hyper-threads.
"""

import re
import resource
import tempfile
from argparse import ArgumentParser
from math import ceil
from pathlib import Path
from time import perf_counter

import yaml
from measure import ROOT, run_program

NUM_SEEDS = 5
FRACTIONS = [0.5, 0.9]
FAMILY = 10  # number of classes in a family of the synthetic data


def config_of(num_classes: int) -> dict:
    """Return the default config's benchmark of all digits on this number of synthetic classes."""
    default = yaml.safe_load((ROOT / "config.yaml").read_text())
    benchmark = default["benchmarks"]["digits_resnet"]
    benchmark["data"] = {
        "name": "synthetic",
        "families": max(2, ceil(num_classes / FAMILY)),
        "classes_per_family": FAMILY,
    }
    benchmark["track"] = "all"
    benchmark["classes"] = list(range(num_classes))
    benchmark["fractions"] = FRACTIONS
    benchmark["seeds"] = list(range(NUM_SEEDS))
    return {"benchmarks": {"many": benchmark}}


def plan(num_classes: int) -> tuple[int, float, float]:
    """Return the number of jobs of a dry run, its CPU seconds and its wall-clock seconds."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "many.yaml"
        config.write_text(yaml.safe_dump(config_of(num_classes)))
        words = "snakemake", "--dry-run", "--directory", folder, "--configfile", config
        before, start = _cpu_seconds(), perf_counter()
        output = run_program(*words)
        wall, cpu = perf_counter() - start, _cpu_seconds() - before
    found = re.search(r"^total +(\d+)$", output, re.MULTILINE)
    assert found, "a dry run ends with a table of jobs"
    return int(found[1]), cpu, wall


def main() -> None:
    """Plan runs with about the given numbers of jobs."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1000, 10_000])
    args = parser.parse_args()
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

"""Run a benchmark one seed at a time, and keep an archive of every finished seed.

    python tools/seed_by_seed.py configs/cifar-small.yaml cifar_small --out docs/data/runs
    python tools/seed_by_seed.py configs/trust.yaml trust --out docs/data --at-once 5

For runs that take days on a machine that may be gone tomorrow. Each archive has the outputs, the
embeddings and the records of one seed, and what tuning selected: no models, no images. A seed that
has an archive is not run again: in a fresh clone of the same commit, the archives are unpacked
first, and the next seed goes on from there. Once all seeds are there, `make run` makes the page
and trains nothing. With many short seeds, `--at-once` runs and archives several together: starting
Snakemake takes longer than a small training.
"""

import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from collateral.config.load import read
from collateral.jobs import list_jobs
from collateral.plan import paths
from collateral.plan.grid import Benchmark, build_grid
from collateral.results import layout

PROGRAMS = Path(sys.executable).parent


def main() -> None:
    """Unpack the archives there are, then run and keep each seed that has none."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("config", type=Path)
    parser.add_argument("benchmark", help="its name in the config")
    parser.add_argument("--out", type=Path, required=True, help="folder of the archives")
    parser.add_argument("--seeds", type=int, nargs="*", help="of the config's; default: all")
    parser.add_argument("--at-once", type=int, default=1, help="seeds per archive; default: 1")
    parser.add_argument("--cores", default="1")
    chosen = parser.parse_args()
    benchmark = build_grid(read(chosen.config, "config"))[chosen.benchmark]
    folder = Path(paths.BENCHMARK.format(benchmark=chosen.benchmark))
    out = chosen.out / chosen.benchmark
    run = ("snakemake", "--configfile", chosen.config, "--cores", chosen.cores)
    # The data set is made before the archives are unpacked: what was made from it must be newer.
    _call(*run, folder / layout.DATA)
    if kept := sorted(out.glob("seed*.tar")):
        _call("collateral", "unbundle", *kept, "--config", chosen.config)
    for name, seeds in batches(benchmark.seeds, chosen.at_once).items():
        own = [seed for seed in seeds if chosen.seeds is None or seed in chosen.seeds]
        archive = out / name
        if archive.exists() or not own:
            continue
        _call(*run, *(target for seed in own for target in targets(benchmark, seed)))
        if own == seeds:  # else the rest of the batch is still to come
            out.mkdir(parents=True, exist_ok=True)
            _call("collateral", "bundle", folder, "--seeds", *seeds, "--out", archive)


def batches(seeds: Sequence[int], size: int) -> dict[str, list[int]]:
    """Return the seeds of each archive, by its name."""
    parts = [list(seeds[first : first + size]) for first in range(0, len(seeds), size)]
    return {
        f"seed-{own[0]}.tar" if size == 1 else f"seeds-{own[0]}-{own[-1]}.tar": own for own in parts
    }


def targets(benchmark: Benchmark, seed: int) -> list[str]:
    """Return all files that the jobs of a seed make and that pages are made from."""
    jobs = (job for job in list_jobs(benchmark) if "seed" in job.wildcards and job.seed == seed)
    return sorted({file for job in jobs for file in job.files})


def _call(program: str, *arguments: object) -> None:
    command: Sequence[str] = [str(PROGRAMS / program), *map(str, arguments)]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()

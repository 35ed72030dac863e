"""Unpack archives of `collateral bundle` into results/, several of one benchmark joined.

Where two of them, or one and what is here, contradict each other, nothing is changed. What is not
as the config plans it is listed, a line each: the next run makes it again.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from collateral.config.load import read
from collateral.plan import paths
from collateral.plan.comparison import Comparison, compare
from collateral.plan.grid import build_grid
from collateral.results.metadata import read_metadata
from collateral.results.unbundle import Unbundled, unbundle

CONFIG = Path("config.yaml")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("archives", type=Path, nargs="+", help="that `collateral bundle` wrote")
    parser.add_argument("--config", type=Path, help=f"what to compare with; else {CONFIG}")


def run(args: Namespace) -> None:
    """Unpack, and say what is new, what is left out, and what differs from the plan."""
    if args.config and not args.config.is_file():
        raise ValueError(f"--config: there is no file {args.config}")
    config = args.config or (CONFIG if CONFIG.is_file() else None)
    grid = build_grid(read(config)) if config else {}
    done = unbundle(args.archives, Path(paths.RESULTS))
    for line in _said(done):
        print(line)
    for name in done.benchmarks:
        folder = Path(paths.BENCHMARK.format(benchmark=name))
        if name in grid:
            for line in differences(folder, compare(grid[name], folder)):
                print(line)
        else:
            print(f"{name}: not compared: it is not in {config}; name its config with --config")


def _said(done: Unbundled) -> Iterator[str]:
    if done.left_out:
        yield f"not the same in all, to be made again: {', '.join(done.left_out)}"
    yield f"{', '.join(done.benchmarks)}: {done.num_files} new files"


def differences(folder: Path, found: Comparison) -> Iterator[str]:
    """Yield what a run will make again, and how much is not there at all."""
    records = [str(folder / name) for name in found.different]
    watched = read_metadata(Path(paths.RESULTS).parent, records)
    for name, lines in found.different.items():
        record = str(folder / name)
        remedy = "" if record in watched else f"; unknown to Snakemake, delete it: rm {record}"
        yield from (f"{record}: {line}{remedy}" for line in lines)
    if found.different:
        yield f"{folder}: not as planned: {len(found.different)}; a run makes these again"
    if found.missing:
        yield f"{folder}: planned and not there: {len(found.missing)}, as {found.missing[0]}"
    if found.unplanned:
        yield f"{folder}: there and not planned: {len(found.unplanned)}, as {found.unplanned[0]}"
    if not (found.different or found.missing):
        yield f"{folder}: all as planned"

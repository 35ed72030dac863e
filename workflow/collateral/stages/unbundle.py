"""Unpack archives of `collateral bundle` into results/, several of one benchmark joined.

Where two of them, or one and what is here, contradict each other, nothing is changed. What is not
as the config plans it is listed, a line each: the next run makes it again.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from collateral.config.load import read
from collateral.plan import paths
from collateral.plan.comparison import compare, describe
from collateral.plan.grid import build_grid
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
            for line in describe(folder, compare(grid[name], folder)):
                print(line)
        else:
            print(f"{name}: not compared: it is not in {config}; name its config with --config")


def _said(done: Unbundled) -> Iterator[str]:
    if done.left_out:
        yield f"not the same in all, to be made again: {', '.join(done.left_out)}"
    yield f"{', '.join(done.benchmarks)}: {done.num_files} new files"

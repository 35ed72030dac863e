"""Check that all cached outputs are there, and as planned, before figures are made from them."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.config.load import read
from collateral.plan.cached import complaint, missing, stale, stale_complaint
from collateral.plan.grid import build_grid


def add_arguments(parser: ArgumentParser) -> None:
    """Declare whose cache it is."""
    parser.add_argument("--config", type=Path, required=True, help="a config, as config.yaml")


def run(args: Namespace) -> None:
    """Name what is missing, or else what is not as planned; fail if something is."""
    if not args.config.is_file():
        raise ValueError(f"--config: there is no file {args.config}")
    benchmarks = build_grid(read(args.config)).values()
    if files := missing(benchmarks):
        stop(complaint(files))
    if lines := stale(benchmarks):
        stop(stale_complaint(lines))


def stop(text: str) -> None:
    """Print why no figure can be made, and end with code 1."""
    print(text, file=sys.stderr)
    raise SystemExit(1)

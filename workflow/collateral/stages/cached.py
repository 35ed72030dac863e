"""Before tables, figures and pages are made from the cache: is all of it there?"""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.config.load import read
from collateral.plan.cached import complaint, missing
from collateral.plan.grid import build_grid


def add_arguments(parser: ArgumentParser) -> None:
    """Declare whose cache it is."""
    parser.add_argument("--config", type=Path, required=True, help="a config, as config.yaml")


def run(args: Namespace) -> None:
    """Name what is missing, and how to get it; fail if something is."""
    if not args.config.is_file():
        raise ValueError(f"--config: there is no file {args.config}")
    if files := missing(build_grid(read(args.config)).values()):
        print(complaint(files), file=sys.stderr)
        raise SystemExit(1)

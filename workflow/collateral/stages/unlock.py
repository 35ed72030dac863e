"""Remove Snakemake's lock if the run that took it was killed; keep the lock of a live run."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.plan.lock import FOLDER, unlock


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("--folder", type=Path, default=FOLDER, help="Snakemake's own folder")


def run(args: Namespace) -> None:
    """Print one line if there is a lock: it was removed, or the reason why it stays."""
    if outcome := unlock(args.folder):
        print(f"{args.folder.absolute().parent}: {outcome}")

"""Remove the lock of a run that was killed; leave any other, and say who holds it."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.plan.lock import FOLDER, unlock


def add_arguments(parser: ArgumentParser) -> None:
    """Declare where the lock is."""
    parser.add_argument("--folder", type=Path, default=FOLDER, help="Snakemake's own folder")


def run(args: Namespace) -> None:
    """Say in a line what was done, or why nothing was."""
    for said in unlock(args.folder):
        print(f"{args.folder.absolute().parent}: {said}")

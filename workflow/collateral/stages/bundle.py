"""Pack results of benchmarks into one archive that `collateral unbundle` takes elsewhere.

It has all that tables, figures and page need: no models, no data set, and only the pictures that
the config's key `pictures` allows. What is not sound by its chain of hashes is not packed.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.results.bundle import write_bundle


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("folders", type=Path, nargs="+", help="as results/digits")
    parser.add_argument("--out", type=Path, required=True, help="the archive to write, a .tar")
    parser.add_argument(
        "--with-models",
        action="store_true",
        help="also models, and, where the pages may show all pictures, data set and prepared files",
    )


def run(args: Namespace) -> None:
    """Write the archive, and say what is in it."""
    made = write_bundle(args.out, args.folders, with_models=args.with_models)
    if made.unwatched:
        some = f"{len(made.unwatched)} files without metadata of Snakemake, as {made.unwatched[0]}"
        print(f"{some}: elsewhere it will not notice other parameters or code of them")
    if made.withheld and args.with_models:
        held = f"{', '.join(made.withheld)}: data set and prepared files stay here"
        print(f"{held}, as they have pictures that the key `pictures` leaves out")
    print(f"{args.out}: {made.num_files} files, {args.out.stat().st_size / 2**20:.1f} MB")

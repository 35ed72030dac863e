"""Print where the Snakefile is: `snakemake --snakefile "$(collateral where)"` runs anywhere."""

from argparse import ArgumentParser, Namespace

from collateral.plan.home import home


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what to print."""
    parser.add_argument(
        "--folder", action="store_true", help="its folder, with configs/, profiles/ and envs/"
    )


def run(args: Namespace) -> None:
    """Print a path."""
    print(home() if args.folder else home() / "Snakefile")

"""Hold the paper's 62 claims against the results there are: holds, does not, or cannot be said."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from paper.claims.evaluate import evaluate
from paper.claims.results import read_all
from paper.claims.text import choose, lines, markdown, summary


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "results", type=Path, nargs="?", default=Path("results"), help="or one benchmark's folder"
    )
    parser.add_argument("--only", help="some claims, such as 1-11,19")
    parser.add_argument("--markdown", action="store_true", help="as a table for a page of docs")


def run(args: Namespace) -> None:
    """Print every claim with what was found, by means over seeds, and a last line that counts."""
    answers = choose(evaluate(read_all(args.results)), args.only)
    if args.markdown:
        print(markdown(answers), end="")
        return
    for line in lines(answers):
        print(line)
    print(summary(answers))

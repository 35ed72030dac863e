"""Numbers, figures and images of all benchmarks in; one self-contained page out."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.findings.compute import write_problems
from collateral.report.page import gather, render
from collateral.results.files import atomic


def add_arguments(parser: ArgumentParser) -> None:
    """Declare what goes in and comes out."""
    parser.add_argument(
        "--benchmarks", type=Path, nargs="+", required=True, help="folders of benchmarks"
    )
    parser.add_argument("--theory", type=Path, help="folder of the theory's figures")
    parser.add_argument("--out", type=Path, required=True, help="the page")
    parser.add_argument("--problems", type=Path, required=True, help="problems.json")


def run(args: Namespace) -> None:
    """Render the page; write it, and what could not be shown on it."""
    benchmarks = [gather(folder) for folder in args.benchmarks]
    with atomic(args.out) as temporary:
        temporary.write_text(render(benchmarks, args.theory), encoding="utf-8")
    write_problems(args.problems, (one for part in benchmarks for one in part.problems))

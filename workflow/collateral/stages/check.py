"""Name the findings that could not be made; that there are none is what success means."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from collateral.findings.compute import read_problems
from collateral.results.chain import checked

# The rule that makes each part of a finding: it counts as done, whatever could not be made.
RULES = {
    "numbers": "metrics",
    "across": "gather",
    "colours": "gather",
    "table": "tables",
    "plots": "figures",
    "words": "report",
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the files that go in."""
    parser.add_argument("--problems", type=Path, nargs="+", required=True, help="problems.json")


def run(args: Namespace) -> None:
    """Print each problem in a line and then the remedy, and fail if there is one."""
    problems = dict.fromkeys(read_problems(checked(path, path.parent) for path in args.problems))
    for problem in problems:
        print(" ".join(str(problem).split()))
    if problems:
        rules = dict.fromkeys(RULES[problem.part] for problem in problems)
        print(f"Mend it; or, if the cause has passed: snakemake --forcerun {' '.join(rules)}")
        raise SystemExit(1)

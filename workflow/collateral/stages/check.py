"""Print the findings that could not be computed or shown, and fail if there are any."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from collateral.findings.registry import read_problems
from collateral.results.provenance import verify

# The rule that makes each part of a finding; it succeeds even if a finding fails.
RULES = {
    "numbers": "metrics",
    "across": "gather",
    "colours": "gather",
    "views": "tables",
    "table": "tables",
    "plots": "figures",
    "words": "report",
}


def check(*, problems: Annotated[Sequence[Path], "problems.json"]) -> None:
    """Print each problem in a line and then the remedy, and fail if there is one."""
    found = dict.fromkeys(read_problems(verify(path, path.parent) for path in problems))
    for problem in found:
        print(" ".join(str(problem).split()))
    if found:
        rules = dict.fromkeys(RULES[problem.part] for problem in found)
        print(f"Mend it; or, if the cause has passed: snakemake --forcerun {' '.join(rules)}")
        raise SystemExit(1)

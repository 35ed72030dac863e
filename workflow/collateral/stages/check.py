"""Print the findings that could not be computed or shown, and fail if there are any."""

from collateral.findings.registry import read_problems
from collateral.jobs.check import CheckJob
from collateral.results.record import Made
from collateral.stages._workspace import Workspace

# For each part of a finding, the Snakemake rule that computes it.
# If a finding fails, the rule records the failure and succeeds.
RULES = {
    "numbers": "metrics",
    "across": "gather",
    "checks": "gather",
    "table": "tables",
    "plots": "figures",
    "words": "report",
}


def run(_: CheckJob, place: Workspace) -> Made:
    """Print one line per failed finding and a remedy; exit with an error if a finding failed."""
    found = dict.fromkeys(read_problems(place.inputs("problems")))
    for problem in found:
        print(" ".join(str(problem).split()))
    if found:
        rules = dict.fromkeys(RULES[problem.part] for problem in found)
        print(f"Mend it; or, if the cause has passed: snakemake --forcerun {' '.join(rules)}")
        raise SystemExit(1)
    return Made({})

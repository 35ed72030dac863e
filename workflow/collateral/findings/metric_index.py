"""What every number is called and how it is shown: the METRICS of all findings."""

from collections.abc import Mapping
from functools import cache

from collateral.contract.metrics import Metric
from collateral.contract.plugins import FINDING

OTHER = "OTHER_METRICS"  # in a finding whose numbers have names that it cannot know


def find_metric(name: str) -> Metric:
    """Return how a number is shown."""
    known, other = _catalogue(tuple(FINDING.names()))
    return known.get(name) or other


def is_known(name: str) -> bool:
    """Tell whether a finding declares this number."""
    return name in _catalogue(tuple(FINDING.names()))[0]


@cache
def _catalogue(findings: tuple[str, ...]) -> tuple[Mapping[str, Metric], Metric]:
    known: dict[str, Metric] = {}
    other = Metric("", "", "")
    for finding in findings:
        module = FINDING.load(finding)
        declared: dict[str, Metric] = getattr(module, "METRICS", {})
        if twice := sorted(known.keys() & declared.keys()):
            raise ValueError(f"finding {finding}: another one has metrics {twice} already; rename")
        known |= declared
        other = getattr(module, OTHER, other)
    return known, other

"""Index of the metrics that all findings declare."""

from collections.abc import Mapping
from functools import cache

from collateral.contract.metrics import Metric
from collateral.plugins.find import FINDING

# Name of the variable in which a finding may declare one metric for all undeclared names.
OTHER = "OTHER_METRICS"


def find_metric(name: str) -> Metric:
    """Return the declaration of a metric; a name that no finding declares gets a default one."""
    known, other = _index_metrics(tuple(FINDING.names()))
    return known.get(name) or other


def is_known(name: str) -> bool:
    """Tell whether a finding declares a metric of this name."""
    return name in _index_metrics(tuple(FINDING.names()))[0]


@cache
def _index_metrics(findings: tuple[str, ...]) -> tuple[Mapping[str, Metric], Metric]:
    """Return a dict from metric name to declaration, and the declaration for all other names."""
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

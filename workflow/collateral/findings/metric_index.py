"""Index of the metrics that all findings declare."""

import re
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


def known_metrics() -> Mapping[str, str]:
    """Return a dict from the name of each declared metric to the finding that declares it."""
    return {
        name: finding
        for finding in FINDING.names()
        for name in getattr(FINDING.load(finding), "METRICS", {})
    }


def is_interval_end(name: str, of: str = "") -> bool:
    """Tell whether a metric is an end of the interval of another one, or of the metric `of`."""
    base = re.sub(r"(_examples)?_(low|high)$", "", name)
    return base != name and (base == of if of else is_known(base))


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

"""Sentences that several captions share."""

from collections.abc import Iterable

from collateral.findings.metric_index import find_metric
from collateral.results.table import CellTable

SPREAD = "Mean ± sample standard deviation (ddof=1) over n = {n} seeds."
ONE_SEED = "One seed: no spread and no noise floor can be given."
CHANCE = "†: within what 95 % of such deviations stay below (Student t of n seeds); not a finding."


def join_sentences(*sentences: str) -> str:
    """Return the sentences that there are, one after another."""
    return " ".join(sentence for sentence in sentences if sentence)


def describe_spread(cell: CellTable) -> str:
    """Say what stands before and behind ±."""
    return SPREAD.format(n=len(cell.seeds)) if len(cell.seeds) > 1 else ONE_SEED


def describe_metrics(metrics: Iterable[str]) -> str:
    """Say what each number is."""
    found = [find_metric(name) for name in metrics]
    return " ".join(f"{metric.label}: {metric.description}." for metric in found)

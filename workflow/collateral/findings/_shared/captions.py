"""Sentences that the captions of several tables and figures share."""

from collections.abc import Iterable, Sequence

from collateral.findings.metric_index import find_metric
from collateral.results.table import BenchmarkTable, CellTable

SPREAD = "Mean ± sample standard deviation (ddof=1) over n = {n} seeds."
ONE_SEED = "One seed: no spread and no noise floor can be given."
CHANCE = "†: within what 95 % of such deviations stay below (Student t of n seeds); not a finding."
DIFFERENT_DEVICES = (
    "These times are of different devices, and must not be compared: {named}. Shares of Retrain's "
    "time are given on its own device alone."
)


def join_sentences(*sentences: str) -> str:
    """Join sentences to one text; empty sentences are left out."""
    return " ".join(sentence for sentence in sentences if sentence)


def fill_caption(caption: str, cell: CellTable, **more: str) -> str:
    """Return a caption with its keys in braces replaced by texts and numbers of a cell.

    Keys are title, spread, reference, n (number of seeds), and the keys of `more`.
    """
    about = {"title": cell.title, "spread": describe_spread(cell), "n": len(cell.seeds)}
    return caption.format(**about, reference=cell.reference_label, **more).strip()


def describe_spread(cell: CellTable) -> str:
    """Return a sentence that explains ±, or one that says that a single seed has no spread."""
    return SPREAD.format(n=len(cell.seeds)) if len(cell.seeds) > 1 else ONE_SEED


def describe_metrics(table: CellTable | BenchmarkTable, metrics: Iterable[str]) -> str:
    """Return one sentence per metric: its label and its description."""
    reference, found = table.reference_label, map(find_metric, metrics)
    return " ".join(f"{metric.label}: {metric.describe(reference)}." for metric in found)


def count_seeds(count: int) -> str:
    """Return the number of seeds as text, such as "1 seed" or "3 seeds"."""
    return f"{count} seed{'s' * (count != 1)}"


def list_seeds(seeds: Sequence[int]) -> str:
    """Return a list of seeds as text, such as "seeds 0, 2"; the text is empty if there are none."""
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}" if seeds else ""


def list_devices(cell: CellTable) -> dict[str, str]:
    """Return a dict from run to its device, for all runs whose device is known."""
    found = {run: cell.indices(run, "on_device") for run in cell.labels}
    return {run: " and ".join(names) for run, names in found.items() if names}


def different_devices(cell: CellTable) -> str:
    """Return a warning that runs used different devices; empty if all used the same device."""
    runs: dict[str, list[str]] = {}
    for run, device in list_devices(cell).items():
        runs.setdefault(device, []).append(cell.labels[run])
    named = "; ".join(f"{device}: {', '.join(labels)}" for device, labels in runs.items())
    return DIFFERENT_DEVICES.format(named=named) if len(runs) > 1 else ""

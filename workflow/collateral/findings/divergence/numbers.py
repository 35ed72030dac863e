"""Jensen-Shannon and Kullback-Leibler divergence from Retrain, and agreement with Retrain.

Runs of sweeps are left out, because reading logits takes most of the time.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise

import numpy as np

from collateral.contract.rows import Row
from collateral.findings.divergence import METRICS
from collateral.findings.inputs import Cached, CellResults, Result
from collateral.findings.near import PARTS, split_by_distance
from collateral.metrics.arrays import Mask, Singles
from collateral.metrics.divergence import divergences
from collateral.results.outputs import ModelOutputs, Outputs

Key = tuple[str, str, str | None]  # metric, subset, and "near", "far" or None for all examples

KEYS: list[Key] = [(m, name, at) for m in METRICS for name, parts in PARTS.items() for at in parts]


def cached_numbers(cell: CellResults, cached: Cached) -> Iterator[Row]:
    """Yield every run's mean divergences from Retrain and its agreement with Retrain, by subset."""
    first, *others = cell.retrained()
    for reference, follower in pairwise([first, *others, first]):
        runs = [r for r in cell.results() if r.seed == reference.seed and not r.is_sweep]
        read_reference = cache(partial(_read_outputs, reference))
        for other in (follower, *runs):
            make = partial(_measure, cell, reference, other, read_reference)
            yield from cached(f"{other.run}-{reference.seed}", (reference, other), make)


def _measure(
    cell: CellResults, reference: Result, other: Result, read_reference: Callable[[], ModelOutputs]
) -> Iterator[Row]:
    """Yield mean divergences and agreement between two runs; all are NaN if one run diverged."""
    found: dict[Key, float] = {}
    if not (reference.is_diverged or other.is_diverged or other is reference):
        masks = {name: split_by_distance(cell, name) for name in cell.near}
        found = average_parts(_compare(cell, read_reference(), _read_outputs(other)), masks)
    for key in KEYS:
        metric, name, at = key
        yield Row(other.run, metric, found.get(key, math.nan), reference.seed, name, at)


def _read_outputs(result: Result) -> ModelOutputs:
    """Read the outputs of a run into memory, so that its logits are read from disk only once."""
    sets = (result.train, result.test)
    return ModelOutputs(*(Outputs(a.logits, a.confidence, a.prediction) for a in sets))


def _compare(
    cell: CellResults, retrained: ModelOutputs, own: ModelOutputs
) -> dict[str, dict[str, Singles]]:
    """Return divergences and agreement of two models for each example, by metric and subset."""
    pairs = ((retrained.train, own.train), (retrained.test, own.test))
    by_example = [
        (*divergences(a.logits, b.logits), a.prediction == b.prediction) for a, b in pairs
    ]
    return {
        metric: cell.sets(train, test)
        for metric, train, test in zip(METRICS, *by_example, strict=True)
    }


def average_parts(
    values: Mapping[str, Mapping[str, Singles]], masks: Mapping[str, Mapping[str, Mask]]
) -> dict[Key, float]:
    """Return the mean of each metric over all, near and far examples of each subset.

    Near and far refer to the distance from the forget set.
    """
    found = {}
    for metric, name, at in KEYS:
        own = values[metric][name]
        if at:
            own = own[masks[name][at]]
        found[metric, name, at] = float(own.mean(dtype=np.float64)) if len(own) else math.nan
    return found

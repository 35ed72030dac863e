"""KLOM in closed form, of two disjoint halves of the seeds.

A margin is log p - log(1 - p) of the true class: its logit minus the log-sum-exp of the others.
Half of the seeds give the one law, as many others the other, so that Retrain against Retrain is the
same statistic at the same n; the halves go round the seeds, and the mean of all is taken. Few seeds
know little of one example's variance: it is drawn towards the set's mean, as if that were known
from four seeds more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import Row
from collateral.findings.near import FAR, NEAR, PARTS, Mask, near_in_the_mean
from collateral.results.layout import RETRAIN

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result

LEAST_SEEDS = 2
POOLED = 4  # seeds that the set's mean variance counts for
LEAST = 1e-30  # below the logarithm
LAST_BITS_SQUARED = 1e-20  # of a mean square
LEAST_REST = 2.0**-25  # half a last bit of a float32 near 1: no confidence knows more

Floats = NDArray[np.float64]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the divergence of every run, sweeps' too, over all seeds, and Retrain's own."""
    parts = list(_parts(cell))
    sound = [result.seed for result in cell.retrained() if not result.is_diverged]
    retrained = _by_set(cell, cell.retrained(), sound)
    floors = {name: _found(law, law) for name, law in retrained.items()}
    for name, at, members in parts:
        yield Row(RETRAIN, "klom_retrain", _mean(floors[name], members), set=name, at=at)
    for run in cell.runs:
        own = _by_set(cell, [result for result in cell.results() if result.run == run], sound)
        found = {name: _found(law, retrained[name]) - floors[name] for name, law in own.items()}
        for name, at, members in parts:
            yield Row(run, "klom", _mean(found[name], members), set=name, at=at)


def _parts(cell: CellResults) -> Iterator[tuple[str, str | None, Mask]]:
    """Yield the parts of each set; near are the most similar in the mean over seeds."""
    for name, parts in PARTS.items():
        yield name, None, np.ones(cell.similarity[name].shape[-1], dtype=bool)
        if NEAR in parts:
            is_near = near_in_the_mean(cell, name)
            yield name, NEAR, is_near
            yield name, FAR, ~is_near


def _by_set(
    cell: CellResults, results: Sequence[Result], sound: Sequence[int]
) -> dict[str, Margins]:
    """Return the margins of a run in the seeds whose Retrain is sound; of no run that diverged."""
    is_lost = any(result.is_diverged and result.run != RETRAIN for result in results)
    used = [] if is_lost else [result for result in results if result.seed in sound]
    found = [cell.sets(*map(margins, (r.train.confidence, r.test.confidence))) for r in used]
    counts = {name: similarity.shape[1] for name, similarity in cell.similarity.items()}
    return {
        name: Margins(np.reshape([one[name] for one in found], (len(used), counts[name])))
        for name in PARTS
    }


def margins(confidence: NDArray[np.float32]) -> Floats:
    """Return log p - log(1 - p), as far as a float32 knows it."""
    p = confidence.astype(np.float64)
    return np.log(np.maximum(p, LEAST)) - np.log(np.maximum(1 - p, LEAST_REST))


@dataclass(frozen=True)
class Margins:
    """The margins of a set by seed (S, N)."""

    by_seed: Floats

    @cached_property
    def variance(self) -> float:
        """The mean over examples of their variance over all seeds; 0 where it is rounding."""
        variance = float(self.by_seed.var(axis=0, ddof=1).mean())
        return variance if variance > LAST_BITS_SQUARED * float((self.by_seed**2).mean()) else 0.0

    def law(self, seeds: Sequence[int]) -> tuple[Floats, Floats]:
        """Return mean and variance of each example over some of the seeds."""
        some, known = self.by_seed[list(seeds)], len(seeds) - 1
        squares = ((some - some.mean(axis=0)) ** 2).sum(axis=0)
        return some.mean(axis=0), (squares + POOLED * self.variance) / (known + POOLED)


def _found(own: Margins, retrained: Margins) -> Floats:
    """Return the divergence of each example, the mean over pairs of halves."""
    total, count = own.by_seed.shape
    if total < LEAST_SEEDS or not count:
        return np.full(count, np.nan)
    found = [divergence(*own.law(one), *retrained.law(other)) for one, other in halves(total)]
    return np.asarray(np.mean(found, axis=0))


def halves(total: int) -> list[tuple[list[int], list[int]]]:
    """Return pairs of disjoint halves of the seeds, one beginning at each seed."""
    half = total // 2
    around = [[(start + step) % total for step in range(2 * half)] for start in range(total)]
    return [(both[:half], both[half:]) for both in around]


def divergence(mean: Floats, variance: Floats, of_mean: Floats, of_variance: Floats) -> Floats:
    """Return KL of a Gaussian from another (the second pair), in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = variance / of_variance
        found: Floats = (ratio - 1 - np.log(ratio) + (mean - of_mean) ** 2 / of_variance) / 2
    return found


def _mean(values: Floats, members: Mask) -> float:
    """Return the mean over some examples; NaN of nobody, and where it is not finite."""
    found = float(values[members].mean()) if members.any() else math.nan
    return found if math.isfinite(found) else math.nan

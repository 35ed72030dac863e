"""How strongly a difference goes with similarity: slope, rank correlation, near against far.

All three are made of weighted sums over examples, so that a resample costs a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from collateral.findings._shared.inference.differences import LEAST_SEEDS, interval

Floats = NDArray[np.float64]
Mean = Callable[[Floats], Floats]
NUM_TENTHS = 10
NUM_SUMS = 10


@dataclass(frozen=True)
class Ground:
    """What all differences of a set and seed are held against."""

    similarity: Floats  # within tenths: minus the tenth's mean, as the ranks
    ranks: Floats
    order: Mean  # over examples that are at least as similar
    near: Floats  # weights of the near examples, and of the far ones they are compared with
    far: Floats
    tenths: NDArray[np.int64]  # within which examples are compared: all 0 for no control

    @staticmethod
    def plain(similarity: Floats, is_near: NDArray[np.bool_]) -> Ground:
        """Compare all examples with one another."""
        return Ground.within(similarity, is_near, np.zeros(len(similarity), dtype=np.int64))

    @staticmethod
    def within(similarity: Floats, is_near: NDArray[np.bool_], tenths: NDArray[np.int64]) -> Ground:
        """Compare examples of the same tenth alone."""
        near = is_near.astype(np.float64)
        # Far examples count so that each tenth weighs what it does among the near ones.
        num_near, num_far = (np.bincount(tenths, weights=w, minlength=1) for w in (near, 1 - near))
        weights = np.divide(num_near, num_far, out=np.zeros_like(num_near), where=num_far > 0)
        near = near * (num_far > 0)[tenths]  # what has nothing to be compared with is left out
        return Ground(
            centred(similarity, tenths),
            centred(scaled_ranks(similarity), tenths),
            mean_above(similarity),
            near,
            np.where(is_near, 0.0, weights[tenths]),
            tenths,
        )

    def columns(self, difference: Floats) -> Floats:
        """Return what is summed over examples, (N, 10)."""
        x, y = self.similarity, centred(difference, self.tenths)
        ranks = centred(scaled_ranks(difference), self.tenths)
        moments = [np.ones_like(x), x, y, x * x, x * y]
        parts = [self.near, self.near * difference, self.far, self.far * difference]
        shares = correlation_shares(self.ranks, ranks, self.order, mean_above(difference))
        return np.column_stack([*moments, shares, *parts])


def slope(sums: Floats) -> Floats:
    """Return the slope of the difference over similarity, of sums (..., 10)."""
    n, x, y, xx, xy = np.moveaxis(sums[..., :5], -1, 0)
    # Multiplied by n, for a resample of nobody.
    return _ratio(n * xy - x * y, n * xx - x * x)


def rank_correlation(sums: Floats) -> Floats:
    """Return Spearman's correlation; within tenths, the partial one."""
    return _ratio(sums[..., 5], sums[..., 0])


def log_near_far(sums: Floats) -> Floats:
    """Return the logarithm of the near mean over the far mean; NaN where one of them is zero."""
    num_near, near, num_far, far = np.moveaxis(sums[..., 6:], -1, 0)
    ratio = _ratio(_ratio(near, num_near), _ratio(far, num_far))
    return np.log(np.where(ratio > 0, ratio, np.nan))


STATISTICS: dict[str, Callable[[Floats], Floats]] = {
    "locality_slope": slope,
    "locality_rank": rank_correlation,
    "near_far_ratio": log_near_far,
}


def shown(name: str, value: float) -> float:
    """Return a statistic as it is told: a ratio is averaged as its logarithm."""
    return float(np.exp(value)) if name == "near_far_ratio" else float(value)


def middle(name: str, values: Floats) -> float:
    """Return the mean over seeds, or cells, of what is defined; of ratios the geometric one."""
    defined = values[~np.isnan(values)]
    if not defined.size:
        return float("nan")
    return shown(name, np.log(defined).mean() if name == "near_far_ratio" else defined.mean())


def over_seeds(statistics: Floats) -> tuple[float, float]:
    """Return the 95 % interval of the mean over seeds; NaN for fewer than two."""
    defined = statistics[~np.isnan(statistics)]
    if len(defined) < LEAST_SEEDS:
        return float("nan"), float("nan")
    low, high = interval(defined)
    return float(low), float(high)


def correlation_shares(x: Floats, y: Floats, above_x: Mean, above_y: Mean) -> Floats:
    """Return numbers whose mean is the correlation of two columns of ranks.

    Each is the correlation plus what one more such example would do to it, by itself and by the
    ranks of all others: so a resample's mean spreads as the correlation itself does.
    """
    variance_x, variance_y = (x * x).mean(), (y * y).mean()
    scale = np.sqrt(variance_x * variance_y)
    if scale == 0:
        return np.full(len(x), np.nan)
    correlation = (x * y).mean() / scale
    moved = (x * y + above_x(y) + above_y(x)) / scale
    spread_x, spread_y = x * x + 2 * above_x(x), y * y + 2 * above_y(y)
    moved -= correlation * (spread_x / variance_x + spread_y / variance_y) / 2
    shares: Floats = correlation + moved - moved.mean()
    return shares


def mean_above(keys: Floats) -> Mean:
    """Return a function: for each example, the mean over all of values whose key is not below."""
    order = np.argsort(keys, kind="stable")
    firsts = np.searchsorted(keys[order], keys)

    def above(values: Floats) -> Floats:
        sums = np.cumsum(values[order][::-1])[::-1] / len(values)
        found: Floats = sums[firsts]
        return found

    return above


def scaled_ranks(values: NDArray[np.floating]) -> Floats:
    """Return ranks from -1/2 to 1/2, ties sharing theirs."""
    ranks: Floats = rankdata(values) / len(values) - 0.5
    return ranks


def centred(values: NDArray[np.floating], groups: NDArray[np.int64]) -> Floats:
    """Return the values minus their group's mean."""
    counts = np.bincount(groups)
    sums = np.bincount(groups, weights=values)
    means = np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)
    return values.astype(np.float64) - means[groups]


def tenths_of(values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return each value's tenth by rank, from 0; equal values share one."""
    place = (rankdata(values) - 0.5) / len(values)
    tenths: NDArray[np.int64] = np.minimum(NUM_TENTHS * place, NUM_TENTHS - 1).astype(np.int64)
    return tenths


def margins(logits: NDArray[np.floating], label: NDArray[np.int64]) -> Floats:
    """Return the true class's logit minus the largest other one."""
    rows = np.arange(len(label))
    others = logits.astype(np.float64)
    true = others[rows, label]
    others[rows, label] = -np.inf
    margin: Floats = true - others.max(axis=1)
    return margin


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.abs(below) > 1e-12, above / below, np.nan)

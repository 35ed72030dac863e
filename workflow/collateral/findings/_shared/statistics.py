"""Means of what is defined, intervals, and how far chance alone takes two retrainings apart."""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.floating]
LEAST_NEGATIVES = 1000  # below, one in a hundred is a handful of them


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of what is not NaN; NaN where nothing is left."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def tpr_at_one_percent(positives: Floats, negatives: Floats) -> float:
    """Return the share of positives above the score that at most 1 % of the negatives exceed."""
    total = len(negatives)
    if total < LEAST_NEGATIVES or not len(positives):
        return float("nan")
    place = total - 1 - total // 100
    return float(np.mean(positives > np.partition(negatives, place)[place]))


def t_quantile(n: int) -> float:
    """Return how many standard deviations, as known from n seeds, hold 95 % of what chance does."""
    return float(stdtrit(n - 1, 0.975)) if n >= 2 else float("nan")


def interval_half_width(values: Floats) -> float:
    """Return half the 95 % Student-t interval of the mean of what is defined; NaN for n < 2."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return float("nan")
    return t_quantile(len(defined)) * float(defined.std(ddof=1)) / float(np.sqrt(len(defined)))


def floor_of(values: Floats) -> float:
    """Return the expected |deviation| between the means of two independent sets of n retrainings.

    For a normal law that is E|r_i - r_j| / sqrt(n), with the mean over pairs i < j for E.
    """
    n = len(values)
    if n < 2:
        return float("nan")
    return float(np.mean([abs(a - b) for a, b in combinations(values, 2)]) / np.sqrt(n))


def difference_sd(profiles: Floats) -> NDArray[np.float64]:
    """Return the standard deviation of a bin's mean difference between independent retrainings.

    `profiles` (S, S, bins) has the accuracy or confidence of seed j's Retrain in seed i's bins.
    Each difference of i and j is taken in the bins of i, as a method's from Retrain is. Its mean
    over n seeds, those whose bin is not empty, deviates by the root of its mean square over n. NaN
    for n < 2.
    """
    seeds = np.arange(len(profiles))
    own = profiles[seeds, seeds]  # (S, bins)
    squares = (own[:, None] - profiles) ** 2
    found = []
    for b in range(profiles.shape[2]):
        has_bin = ~np.isnan(own[:, b])
        n = np.count_nonzero(has_bin)
        pairs = n * (len(profiles) - 1)  # a seed is no pair with itself
        found.append(np.sqrt(squares[has_bin, :, b].sum() / pairs / n) if n >= 2 else np.nan)
    return np.array(found)

"""Is a mean of paired differences other than zero? Tests and intervals over a few seeds.

Student's t; or the sign-flip test, which assumes symmetry alone, if its smallest possible p-value
reaches the level. Interval and test agree: the interval excludes zero if the test rejects.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from collateral.contract.verdicts import ALPHA

Floats = NDArray[np.floating]
Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
Key = TypeVar("Key", bound=Hashable)
Test = Literal["t", "flips"]

LAST_BITS = 1e-12  # relative size of rounding errors: a smaller spread counts as none
LEAST_SEEDS = 2
MOST_FLIPPED = 16  # up to so many seeds, all sign flips are tried; above, 2^16 random ones
DECIMALS = 12  # decimals to which means of subsets are rounded, so that equal means compare equal


@dataclass(frozen=True)
class Difference:
    """A mean difference over seeds, its interval at Holm's level, and its adjusted p-value."""

    mean: float
    low: float
    high: float
    p: float
    n: int

    @property
    def is_found(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0


UNKNOWN = Difference(math.nan, math.nan, math.nan, math.nan, 0)


def compare(samples: Mapping[Key, Floats]) -> dict[Key, Difference]:
    """Test every sample of differences (one per seed, NaN left out), all of them as one family."""
    defined = {key: values[~np.isnan(values)] for key, values in samples.items()}
    tested = {key: values for key, values in defined.items() if len(values) >= LEAST_SEEDS}
    p = np.array([p_value(values, len(tested)) for values in tested.values()])
    levels, adjusted = holm_levels(p), holm(p)
    found = dict.fromkeys(samples, UNKNOWN)
    for place, (key, values) in enumerate(tested.items()):
        low, high = interval(values, levels[place], len(tested))
        p_holm, n = float(adjusted[place]), len(values)
        found[key] = Difference(float(values.mean()), float(low), float(high), p_holm, n)
    return found


def chosen_test(n: int, num_tests: int) -> Test:
    """Use sign flips if their smallest possible p-value is below the first Holm level, else t."""
    return "flips" if 2 / 2**n < ALPHA / max(num_tests, 1) else "t"


def p_value(differences: Floats, num_tests: int = 1) -> NDArray[np.float64]:
    """Return the two-sided p-value of the mean over the last axis, before any adjustment."""
    n = differences.shape[-1]
    if chosen_test(n, num_tests) == "t":
        by_t: NDArray[np.float64] = 2 * stdtr(n - 1, -np.abs(_t(differences)))
        return by_t
    means = _subset_means(differences)
    beyond = np.minimum((means <= 0).sum(axis=-1), (means >= 0).sum(axis=-1))
    by_flips: NDArray[np.float64] = np.minimum(2 * (1 + beyond) / (means.shape[-1] + 1), 1)
    return by_flips


def interval(differences: Floats, alpha: float | Floats = ALPHA, num_tests: int = 1) -> Ends:
    """Return the ends of the 1 - alpha interval of the mean over the last axis."""
    is_by_t = chosen_test(differences.shape[-1], num_tests) == "t"
    return t_interval(differences, alpha) if is_by_t else _flips_interval(differences, alpha)


def _flips_interval(differences: Floats, alpha: float | Floats) -> Ends:
    """Return the ends of the interval from the sorted means of all subsets (Hartigan, 1969)."""
    means = np.sort(_subset_means(differences), axis=-1)
    count = means.shape[-1] + 1
    place = np.floor(np.asarray(alpha) * count / 2 + 1e-9).astype(np.int64)[..., None]
    low = np.take_along_axis(means, np.broadcast_to(place - 1, (*means.shape[:-1], 1)), -1)
    high = np.take_along_axis(means, np.broadcast_to(count - place - 1, low.shape), -1)
    return low[..., 0], high[..., 0]


def t_interval(differences: Floats, alpha: float | Floats) -> Ends:
    """Return the ends of the 1 - alpha interval by Student's t over the last axis."""
    freedom, middle = differences.shape[-1] - 1, differences.mean(axis=-1)
    half = stdtrit(freedom, 1 - np.asarray(alpha) / 2) * standard_error(differences)
    return middle - half, middle + half


def standard_error(differences: Floats) -> NDArray[np.float64]:
    """Return the standard error of the mean over the last axis."""
    error: NDArray[np.float64] = differences.std(axis=-1, ddof=1) / np.sqrt(differences.shape[-1])
    return error


def holm(p: Floats) -> NDArray[np.float64]:
    """Return the p-values of a family (last axis) adjusted by Holm; NaN, no test, stays NaN."""
    order, left = _in_order(p)
    stepped = np.maximum.accumulate(np.take_along_axis(p, order, -1) * left, axis=-1)
    return _back(np.minimum(stepped, 1), order)


def holm_levels(p: Floats, alpha: float = ALPHA) -> NDArray[np.float64]:
    """Return the level at which Holm tests each p-value: alpha over the number not yet rejected."""
    order, left = _in_order(p)
    num_rejected = np.count_nonzero(holm(p) < alpha, axis=-1)[..., None]
    return _back(alpha / np.maximum(left, np.maximum(left[..., :1] - num_rejected, 1)), order)


def _in_order(p: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of the p-values, NaN last, and the number of tests left at each rank."""
    num_tests = np.count_nonzero(~np.isnan(p), axis=-1)[..., None]
    return np.argsort(p, axis=-1, kind="stable"), num_tests - np.arange(p.shape[-1])


def _back(values: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    placed = np.empty_like(values)
    np.put_along_axis(placed, order, values, -1)
    return placed


def _t(differences: Floats) -> NDArray[np.float64]:
    """Return the mean in standard errors: 0 for zeros, infinite for equal values other than 0."""
    middle, error = differences.mean(axis=-1), standard_error(differences)
    # Values that are equal in all seeds have the spread of rounding errors alone.
    is_equal = error <= LAST_BITS * np.abs(middle)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(is_equal, np.copysign(np.inf, middle), middle / error)
    return np.where(middle == 0, 0.0, t)


def _subset_means(differences: Floats) -> NDArray[np.float64]:
    """Return the means of all non-empty subsets of the last axis; of random ones above 16 seeds."""
    return np.round(differences @ _subset_weights(differences.shape[-1]), DECIMALS)


@cache
def _subset_weights(n: int) -> NDArray[np.float64]:
    if n <= MOST_FLIPPED:
        chosen = np.arange(1, 2**n)[:, None] >> np.arange(n) & 1
    else:
        chosen = np.random.default_rng(n).integers(0, 2, (2**MOST_FLIPPED - 1, n))
        chosen = chosen[chosen.any(axis=1)]
    weights: NDArray[np.float64] = (chosen / chosen.sum(axis=1, keepdims=True)).T
    return weights

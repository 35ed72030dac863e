"""Is a mean of paired differences other than zero? Tests and intervals over a few seeds.

Student's t; or, where there are seeds enough for it to reach the level, flips of the signs, which
want symmetry alone. Interval and test always agree: one excludes zero where the other rejects.

`step` is what one example makes of a rate, or one near example of damage. Counts that are equal in
all seeds may differ in the next: t takes their spread for that of one step in one seed. Flips know
no step, so t is taken wherever the spread is no larger.
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

from collateral.contract.metrics import LAST_BITS

Floats = NDArray[np.floating]
Ends = tuple[NDArray[np.float64], NDArray[np.float64]]
Key = TypeVar("Key", bound=Hashable)
Test = Literal["t", "flips"]

ALPHA = 0.05
LEAST_SEEDS = 2
MOST_FLIPPED = 16  # seeds of which all flips are looked at; of more, as many at random
DECIMALS = 12  # of a subset's mean: beyond are the last bits of a sum


@dataclass(frozen=True)
class Difference:
    """A mean difference over seeds, its interval at Holm's level, and its adjusted p-value."""

    mean: float
    low: float
    high: float
    p: float
    n: int

    @property
    def is_above(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.low > 0

    @property
    def is_found(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0


UNKNOWN = Difference(math.nan, math.nan, math.nan, math.nan, 0)


def compare(
    samples: Mapping[Key, Floats], steps: Mapping[Key, float] | None = None
) -> dict[Key, Difference]:
    """Test every sample of differences (one a seed, NaN left out), all of them as one family."""
    step = dict.fromkeys(samples, 0.0) if steps is None else steps
    defined = {key: values[~np.isnan(values)] for key, values in samples.items()}
    tested = {key: values for key, values in defined.items() if len(values) >= LEAST_SEEDS}
    p = np.array([p_value(values, len(tested), step[key]) for key, values in tested.items()])
    levels, adjusted = holm_levels(p), holm(p)
    found = dict.fromkeys(samples, UNKNOWN)
    for place, (key, values) in enumerate(tested.items()):
        low, high = interval(values, levels[place], len(tested), step[key])
        p_holm, n = float(adjusted[place]), len(values)
        found[key] = Difference(float(values.mean()), float(low), float(high), p_holm, n)
    return found


def chosen_test(n: int, num_tests: int) -> Test:
    """Return the test: flips where the least p-value that they can have is below Holm's first."""
    return "flips" if 2 / 2**n < ALPHA / max(num_tests, 1) else "t"


def p_value(differences: Floats, num_tests: int = 1, step: float = 0.0) -> NDArray[np.float64]:
    """Return the two-sided p-value of the mean over the last axis, before any adjustment."""
    n = differences.shape[-1]
    of_t: NDArray[np.float64] = 2 * stdtr(n - 1, -np.abs(_t(differences, step)))
    if chosen_test(n, num_tests) == "t":
        return of_t
    means = _subset_means(differences)
    beyond = np.minimum((means <= 0).sum(axis=-1), (means >= 0).sum(axis=-1))
    of_flips = np.minimum(2 * (1 + beyond) / (means.shape[-1] + 1), 1)
    return np.where(_is_within_step(differences, step), of_t, of_flips)


def p_above(differences: Floats, step: float = 0.0) -> NDArray[np.float64]:
    """Return the one-sided p-value of a mean above zero, by Student's t over the last axis."""
    p: NDArray[np.float64] = stdtr(differences.shape[-1] - 1, -_t(differences, step))
    return p


def interval(
    differences: Floats, alpha: float | Floats = ALPHA, num_tests: int = 1, step: float = 0.0
) -> Ends:
    """Return the ends of the 1 - alpha interval of the mean over the last axis."""
    of_t = t_interval(differences, alpha, step)
    if chosen_test(differences.shape[-1], num_tests) == "t":
        return of_t
    is_within, of_flips = _is_within_step(differences, step), _flips_interval(differences, alpha)
    low, high = (np.where(is_within, *ends) for ends in zip(of_t, of_flips, strict=True))
    return low, high


def _flips_interval(differences: Floats, alpha: float | Floats) -> Ends:
    """Return the ends by the means of all subsets, which cut the line into equal chances."""
    means = np.sort(_subset_means(differences), axis=-1)  # Hartigan, 1969
    count = means.shape[-1] + 1
    place = np.floor(np.asarray(alpha) * count / 2 + 1e-9).astype(np.int64)[..., None]
    low = np.take_along_axis(means, np.broadcast_to(place - 1, (*means.shape[:-1], 1)), -1)
    high = np.take_along_axis(means, np.broadcast_to(count - place - 1, low.shape), -1)
    return low[..., 0], high[..., 0]


def t_interval(differences: Floats, alpha: float | Floats, step: float = 0.0) -> Ends:
    """Return the ends of the 1 - alpha interval by Student's t over the last axis."""
    freedom, middle = differences.shape[-1] - 1, differences.mean(axis=-1)
    half = stdtrit(freedom, 1 - np.asarray(alpha) / 2) * standard_error(differences, step)
    return middle - half, middle + half


def standard_error(differences: Floats, step: float = 0.0) -> NDArray[np.float64]:
    """Return the mean's over the last axis, no less than if one seed were a step off."""
    error: NDArray[np.float64] = np.maximum(_seen_error(differences), step / differences.shape[-1])
    return error


def _seen_error(differences: Floats) -> NDArray[np.float64]:
    error: NDArray[np.float64] = differences.std(axis=-1, ddof=1) / np.sqrt(differences.shape[-1])
    return error


def _is_within_step(differences: Floats, step: float) -> NDArray[np.bool_]:
    """Tell where no more is seen than if one seed were a step off; nowhere without a step."""
    more = _seen_error(differences) - step / differences.shape[-1]
    is_within: NDArray[np.bool_] = np.round(more, DECIMALS) <= 0
    return is_within & (step > 0)


def holm(p: Floats) -> NDArray[np.float64]:
    """Return the p-values of a family (last axis) adjusted by Holm: below alpha is a finding."""
    order, left = _in_order(p)
    stepped = np.maximum.accumulate(np.take_along_axis(p, order, -1) * left, axis=-1)
    return _back(np.minimum(stepped, 1), order)


def holm_levels(p: Floats, alpha: float = ALPHA) -> NDArray[np.float64]:
    """Return the level at which Holm tests each of a family: alpha over those not yet rejected."""
    order, left = _in_order(p)
    num_rejected = np.count_nonzero(holm(p) < alpha, axis=-1)[..., None]
    total = p.shape[-1]
    return _back(alpha / np.maximum(left, np.maximum(total - num_rejected, 1)), order)


def _in_order(p: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of the p-values, and how many are left at each step."""
    return np.argsort(p, axis=-1, kind="stable"), np.arange(p.shape[-1], 0, -1)


def _back(values: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    placed = np.empty_like(values)
    np.put_along_axis(placed, order, values, -1)
    return placed


def _t(differences: Floats, step: float) -> NDArray[np.float64]:
    """Return the mean in standard errors: 0 of zeros.

    It is infinite without spread, where no step is given.
    """
    middle, error = differences.mean(axis=-1), standard_error(differences, step)
    # What is equal in all seeds has no spread but that of the last bits.
    is_equal = error <= LAST_BITS * np.abs(middle)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(is_equal, np.copysign(np.inf, middle), middle / error)
    return np.where(middle == 0, 0.0, t)


def _subset_means(differences: Floats) -> NDArray[np.float64]:
    """Return the means of all subsets of the last axis but the empty one; of many, at random."""
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

"""Differences of means over a few seeds, paired or not: tests, intervals, equivalence to Retrain.

Paired differences are tested by sign flips, which assume only symmetry, if the smallest p-value
that flips can give is below the level; otherwise by Student's t. The interval excludes zero if the
test rejects. Unpaired samples are tested by Welch's t, as a `Contrast` of arrays whose last axis is
the seed; NaN marks a missing seed.

Equivalence: is a difference of means smaller than a margin? A stated margin is tested by two
one-sided t-tests (TOST). Without one, the margin is estimated: 1.96 √2 times Retrain's standard
deviation over seeds, which holds 95 % of the differences between two retrainings. An estimated
margin has an error of its own, which MOVER takes into account (the rule of Zou and Donner for the
sum of two estimates); TOST alone would exceed its level.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeVar

import numpy as np
from scipy.special import chdtri, stdtr, stdtrit

from collateral.contract.verdicts import ALPHA
from collateral.metrics.arrays import AnyFloats, Floats, Ints

Ends = tuple[Floats, Floats]
Key = TypeVar("Key", bound=Hashable)
Test = Literal["t", "flips"]

LAST_BITS = 1e-12  # relative size of rounding errors; a smaller spread counts as zero
LEAST_SEEDS = 2
# Maximum number of seeds for which all sign flips are used; with more, about 2^16 are drawn.
MOST_FLIPPED = 16
DECIMALS = 12  # decimals to which means of subsets are rounded, so that equal means compare equal
FACTOR = 1.96 * 2**0.5  # estimated margin, as a multiple of Retrain's standard deviation over seeds
# Range in which bisection searches the p-value of the MOVER test.
SMALLEST_P, LARGEST_P = 1e-4, 0.45
HALVINGS = 16  # number of bisection steps


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
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0


UNKNOWN = Difference(math.nan, math.nan, math.nan, math.nan, 0)


def compare(samples: Mapping[Key, AnyFloats]) -> dict[Key, Difference]:
    """Test for each sample whether its mean differs from 0; adjust by Holm for all samples.

    A sample has one difference per seed; NaN marks a missing seed.
    """
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
    """Choose sign flips if their smallest p-value is below Holm's first level, else a t-test."""
    return "flips" if 2 / 2**n < ALPHA / max(num_tests, 1) else "t"


def p_value(differences: AnyFloats, num_tests: int = 1) -> Floats:
    """Return the two-sided p-value of a zero mean, unadjusted for the number of tests."""
    n = differences.shape[-1]
    if chosen_test(n, num_tests) == "t":
        return 2 * stdtr(n - 1, -np.abs(_t(differences)))
    means = _subset_means(differences)
    beyond = np.minimum((means <= 0).sum(axis=-1), (means >= 0).sum(axis=-1))
    return np.minimum(2 * (1 + beyond) / (means.shape[-1] + 1), 1)


def interval(differences: AnyFloats, alpha: float | AnyFloats = ALPHA, num_tests: int = 1) -> Ends:
    """Return both ends of the 1 - alpha confidence interval of the mean over the last axis."""
    is_by_t = chosen_test(differences.shape[-1], num_tests) == "t"
    return t_interval(differences, alpha) if is_by_t else _flips_interval(differences, alpha)


def _flips_interval(differences: AnyFloats, alpha: float | AnyFloats) -> Ends:
    """Return both ends of the interval, which are means over subsets of seeds (Hartigan, 1969)."""
    means = np.sort(_subset_means(differences), axis=-1)
    count = means.shape[-1] + 1
    place = np.floor(np.asarray(alpha) * count / 2 + 1e-9).astype(np.int64)[..., None]
    low = np.take_along_axis(means, np.broadcast_to(place - 1, (*means.shape[:-1], 1)), -1)
    high = np.take_along_axis(means, np.broadcast_to(count - place - 1, low.shape), -1)
    return low[..., 0], high[..., 0]


def t_interval(differences: AnyFloats, alpha: float | AnyFloats) -> Ends:
    """Return both ends of Student's 1 - alpha interval of the mean over the last axis."""
    freedom, middle = differences.shape[-1] - 1, differences.mean(axis=-1)
    half = stdtrit(freedom, 1 - np.asarray(alpha) / 2) * standard_error(differences)
    return middle - half, middle + half


def standard_error(differences: AnyFloats) -> Floats:
    """Return the standard error of the mean over the last axis."""
    return differences.std(axis=-1, ddof=1) / np.sqrt(differences.shape[-1])


def holm(p: AnyFloats) -> Floats:
    """Return p-values adjusted by Holm over the last axis; NaN (no test) stays NaN."""
    order, left = _in_order(p)
    stepped = np.maximum.accumulate(np.take_along_axis(p, order, -1) * left, axis=-1)
    return _back(np.minimum(stepped, 1), order)


def holm_levels(p: AnyFloats, alpha: float | AnyFloats = ALPHA) -> Floats:
    """Return Holm's level of each p-value: alpha / number of hypotheses not yet rejected.

    Equal p-values have equal levels. `alpha` may have one value per family of tests.
    """
    order, left = _in_order(p)
    alpha = np.asarray(alpha)[..., None]
    num_rejected = np.count_nonzero(holm(p) < alpha, axis=-1)[..., None]
    return _back(alpha / np.maximum(left, np.maximum(left[..., :1] - num_rejected, 1)), order)


def count_discoveries(p: AnyFloats, alpha: float = ALPHA) -> Ints:
    """Return how many hypotheses Benjamini and Hochberg's procedure rejects over the last axis."""
    ranks = np.arange(1, p.shape[-1] + 1)
    num_tests = np.count_nonzero(~np.isnan(p), axis=-1)[..., None]
    is_below = np.sort(p, axis=-1) * np.maximum(num_tests, 1) < alpha * ranks
    return np.where(is_below, ranks, 0).max(axis=-1, initial=0)


def _in_order(p: AnyFloats) -> tuple[Ints, Ints]:
    """Return indices that sort the p-values, and the number of remaining tests at each position.

    At all positions of equal p-values it is the number at the first of them.
    """
    num_tests = np.count_nonzero(~np.isnan(p), axis=-1)[..., None]
    order, place = np.argsort(p, axis=-1, kind="stable"), np.arange(p.shape[-1])
    is_new = np.diff(np.take_along_axis(p, order, -1), axis=-1, prepend=-1.0) != 0
    return order, num_tests - np.maximum.accumulate(np.where(is_new, place, 0), axis=-1)


def _back(values: Floats, order: Ints) -> Floats:
    placed = np.empty_like(values)
    np.put_along_axis(placed, order, values, -1)
    return placed


def _t(differences: AnyFloats) -> Floats:
    """Return the t statistic of the mean: 0 if the mean is 0, infinite if all values are equal."""
    middle, error = differences.mean(axis=-1), standard_error(differences)
    # If values are equal in all seeds, their spread is only rounding error.
    is_equal = error <= LAST_BITS * np.abs(middle)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(is_equal, np.copysign(np.inf, middle), middle / error)
    return np.where(middle == 0, 0.0, t)


def _subset_means(differences: AnyFloats) -> Floats:
    """Return the means over all non-empty subsets of seeds (random ones if over 16 seeds)."""
    return np.round(differences @ _subset_weights(differences.shape[-1]), DECIMALS)


@cache
def _subset_weights(n: int) -> Floats:
    if n <= MOST_FLIPPED:
        chosen = np.arange(1, 2**n)[:, None] >> np.arange(n) & 1
    else:
        chosen = np.random.default_rng(n).integers(0, 2, (2**MOST_FLIPPED - 1, n))
        chosen = chosen[chosen.any(axis=1)]
    return (chosen / chosen.sum(axis=1, keepdims=True)).T


@dataclass(frozen=True)
class Contrast:
    """Differences of means, their standard errors and degrees of freedom, as arrays."""

    mean: Floats
    error: Floats
    freedom: Floats

    @property
    def p(self) -> Floats:
        """Two-sided p-values by Student's t; NaN with fewer than two seeds."""
        return 2 * stdtr(self.freedom, -np.abs(self.t))

    @property
    def p_above(self) -> Floats:
        """One-sided p-values for the alternative that the difference is above zero."""
        return stdtr(self.freedom, -self.t)

    @property
    def t(self) -> Floats:
        """Each difference divided by its standard error; 0 where the difference is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.mean == 0, 0.0, self.mean / self.error)

    def interval(self, alpha: float | Floats) -> tuple[Floats, Floats]:
        """Return both ends of the 1 - alpha confidence interval of every difference."""
        half = stdtrit(self.freedom, 1 - np.asarray(alpha) / 2) * self.error
        return self.mean - half, self.mean + half


def unpaired(run: Floats, reference: Floats, least: float | Floats = 0.0) -> Contrast:
    """Compare two independent samples by Welch's t; variances below `least` are set to `least`."""
    mean, variance, count = moments(run)
    reference_mean, reference_variance, reference_count = moments(reference)
    square = np.maximum(variance, least) / count
    reference_square = np.maximum(reference_variance, least) / reference_count
    total = square + reference_square
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = total**2 / (square**2 / (count - 1) + reference_square**2 / (reference_count - 1))
    smaller = np.minimum(count, reference_count) - 1
    freedom = np.where(total > 0, welch, smaller)
    return Contrast(mean - reference_mean, np.sqrt(total), freedom)


def moments(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean, variance (ddof=1) and number of defined values; NaN if fewer than two."""
    is_defined = ~np.isnan(values)
    count = is_defined.sum(axis=-1).astype(np.float64)
    count = np.where(count >= 2, count, np.nan)
    filled = np.where(is_defined, values, 0.0)
    mean = filled.sum(axis=-1) / count
    squares = np.where(is_defined, (filled - mean[..., None]) ** 2, 0.0)
    return mean, squares.sum(axis=-1) / (count - 1), count


def angle(rate: Floats) -> Floats:
    """Return arcsin √rate, whose variance hardly depends on the rate."""
    return np.arcsin(np.sqrt(np.clip(rate, 0.0, 1.0)))


def angle_step(rate: Floats, step: Floats) -> Floats:
    """Return the change of `angle(rate)` if the rate moves by `step` (one example) towards 1/2."""
    smaller = np.clip(np.minimum(rate, 1 - rate), 0.0, 1.0)
    return angle(smaller + step) - angle(smaller)


def is_beyond(difference: float, margin: float) -> bool:
    """Tell whether a difference exceeds the margin by more than a rounding error."""
    return difference > margin * (1 + LAST_BITS)


def tost_p(contrast: Contrast, margin: float | AnyFloats) -> Floats:
    """Return the p-value of equivalence within a stated margin, by two one-sided t-tests."""
    room = np.asarray(margin) * (1 - LAST_BITS) - np.abs(contrast.mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = room / contrast.error
    return stdtr(contrast.freedom, -t)


def mover_limit(
    contrast: Contrast, sd: AnyFloats, sd_freedom: float | AnyFloats, alpha: float | AnyFloats
) -> Floats:
    """Return the upper limit of |difference| - estimated margin; below 0 means equivalence."""
    lowest_sd = sd * np.sqrt(sd_freedom / chdtri(sd_freedom, alpha))
    half = stdtrit(contrast.freedom, 1 - alpha) * contrast.error
    reach: Floats = np.hypot(half, FACTOR * (sd - lowest_sd))
    return np.abs(contrast.mean) - FACTOR * sd + reach


def mover_p(contrast: Contrast, sd: AnyFloats, sd_freedom: float | AnyFloats) -> Floats:
    """Return the p-value of equivalence by MOVER; 1 if even the level 0.45 does not show it.

    `sd` is Retrain's standard deviation over seeds, with `sd_freedom` degrees of freedom.
    """
    low = np.full(np.broadcast_shapes(contrast.mean.shape, np.shape(sd)), SMALLEST_P)
    high = np.full_like(low, LARGEST_P)
    is_found = mover_limit(contrast, sd, sd_freedom, high) < 0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_within = mover_limit(contrast, sd, sd_freedom, middle) < 0
        low, high = np.where(is_within, low, middle), np.where(is_within, middle, high)
    is_known = ~np.isnan(contrast.error * sd)
    return np.where(is_known, np.where(is_found, high, 1.0), np.nan)


def equivalence_p(
    contrast: Contrast, sd: AnyFloats, sd_freedom: float | AnyFloats, step: float | AnyFloats
) -> Floats:
    """Return the p-value of equivalence within the estimated margin or one example's weight.

    Each of the two tests has half of the level. If `sd` is 0, only the margin of one example
    (`step`) is tested.
    """
    within_example = tost_p(contrast, step)
    either = np.minimum(2 * np.fmin(mover_p(contrast, sd, sd_freedom), within_example), 1.0)
    return np.where(sd > 0, either, within_example)

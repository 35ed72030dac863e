"""Statistics of values over seeds: means, intervals, gaps, and the noise between retrainings."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from collateral.metrics.arrays import AnyFloats, Floats

BySeed = Mapping[str, Floats]  # dict from name of a metric to its values, one per seed
# Minimum number of negatives for computing the true positive rate at 1 % false positives.
LEAST_NEGATIVES = 1000
# a correlation is undefined if the product of the two norms is not above this value
ROUNDING = 1e-12


def mean(values: AnyFloats) -> float:
    """Return the mean of the defined values; NaN if there is none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan


def std(values: AnyFloats) -> float:
    """Return the sample standard deviation (ddof=1) of defined values; NaN for fewer than two."""
    defined = values[~np.isnan(values)]
    return float(defined.std(ddof=1)) if defined.size > 1 else np.nan


def standard_error(values: AnyFloats) -> float:
    """Return the standard error of `mean(values)`; NaN for fewer than two defined values."""
    return std(values) / float(np.sqrt(np.count_nonzero(~np.isnan(values)) or np.nan))


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN; NaN if all values are NaN."""
    return mean(np.array([*values], dtype=np.float64))


def tpr_at_one_percent(positives: AnyFloats, negatives: AnyFloats) -> float:
    """Return the true positive rate at a false positive rate of at most 1 %; NaN if undefined."""
    total = len(negatives)
    if total < LEAST_NEGATIVES or not len(positives):
        return float("nan")
    place = total - 1 - total // 100
    return float(np.mean(positives > np.partition(negatives, place)[place]))


def t_quantile(n: int, tests: int = 1) -> float:
    """Return the 97.5 % quantile of Student's t for n values; NaN for n < 2.

    With several tests, the level is divided by their number (Bonferroni).
    """
    return float(stdtrit(n - 1, 1 - 0.025 / tests)) if n >= 2 else float("nan")


def interval_half_width(values: AnyFloats, tests: int = 1) -> float:
    """Return half the width of the mean's 95 % Student-t interval; NaN for fewer than two values.

    With several tests, all intervals together cover the means in 95 % of cases (Bonferroni).
    """
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return float("nan")
    quantile = t_quantile(len(defined), tests)
    return quantile * float(defined.std(ddof=1)) / float(np.sqrt(len(defined)))


def average_gap(run: BySeed, reference: BySeed, metrics: Iterable[str]) -> float:
    """Return the mean over metrics of |run's mean over seeds - reference's mean over seeds|.

    A metric that is undefined for either of them in any seed is left out; NaN if none is left.
    """
    return mean_of_defined(abs(run[name].mean() - reference[name].mean()) for name in metrics)


def expected_deviation(values: AnyFloats) -> float:
    """Return the expected |difference| between the means of two independent groups of n values.

    For normal values it is E|r_i - r_j| / sqrt(n); the expectation is the mean over pairs i < j.
    """
    n = len(values)
    if n < 2:
        return float("nan")
    return float(np.mean([abs(a - b) for a, b in combinations(values, 2)]) / np.sqrt(n))


def difference_sd(profiles: AnyFloats) -> Floats:
    """Return, for each bin, the standard deviation of the mean difference between retrainings.

    `profiles` (S, S, bins) contains the accuracy or confidence of seed j's Retrain in seed i's
    bins. The difference of i and j is measured in the bins of i, like a method's from Retrain. The
    variance of its mean over the n seeds whose bin is not empty is its mean square divided by n.
    NaN for n < 2.
    """
    seeds = np.arange(len(profiles))
    own = profiles[seeds, seeds]  # (S, bins), for S seeds
    squares = (own[:, None] - profiles) ** 2
    found = []
    for b in range(profiles.shape[2]):
        has_bin = ~np.isnan(own[:, b])
        n = np.count_nonzero(has_bin)
        pairs = n * (len(profiles) - 1)  # a seed is not compared with itself
        found.append(np.sqrt(squares[has_bin, :, b].sum() / pairs / n) if n >= 2 else np.nan)
    return np.array(found)


def within_seed_std(values: Floats) -> float:
    """Return the standard deviation over teachers within seeds; values are (teachers, seeds)."""
    return float(np.sqrt(values.var(axis=0, ddof=1).mean()))


def within_seed_correlation(values: Floats, others: Floats) -> float:
    """Return the correlation of two arrays (teachers, seeds) after subtracting each seed's mean."""
    one, other = (both - both.mean(axis=0) for both in (values, others))
    norm = np.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum() / norm) if norm > ROUNDING else float("nan")


def tug_of_war(own: Sequence[AnyFloats], retrained: Sequence[AnyFloats]) -> Floats:
    """Return, per seed, the product of 1 - |own - retrained| over metrics (Zhao et al., 2024)."""
    return np.prod(1 - np.abs(np.subtract(own, retrained)), axis=0)


def shift_seeds(values: AnyFloats) -> Floats:
    """Return for each seed the value of the next seed, cyclically; NaN with a single seed."""
    return np.roll(values, -1, axis=0) if len(values) > 1 else np.full_like(values, np.nan)

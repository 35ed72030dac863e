"""Tests of the methods of a cell against Retrain, and the answers and verdicts that follow.

Each measure of a method has one of three answers: within the margin, a difference shown, or open.
The measures of one method are one family of tests (Holm). Over methods, the level of a family is
set by Benjamini and Hochberg, so that few of those that are blamed are blamed wrongly. The
functions take arrays with the axes (methods, measures, seeds); further axes may come first.
docs/statistics.md has the reasons and the error rates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from collateral.contract.verdicts import ALPHA, LOSSES, MEASURES
from collateral.findings.verdict import OPEN, VERDICTS
from collateral.metrics.differences import (
    FACTOR,
    LAST_BITS,
    Contrast,
    angle,
    angle_step,
    count_discoveries,
    equivalence_p,
    holm,
    holm_levels,
    moments,
    mover_limit,
    tost_p,
    unpaired,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
UA, NEAR, FAR, DAMAGE = (MEASURES.index(at) for at in ("ua", "near", "far", "damage"))
# Masks over the measures: damage, and all losses of accuracy.
IS_DAMAGE = np.arange(len(MEASURES)) == DAMAGE
IS_LOSS = np.isin(MEASURES, LOSSES)
# 80 % quantile of the standard normal: proposed numbers of seeds give the tests 80 % power.
POWER_80 = 0.8416
LEAST_SHARE = 0.5  # a method with TA below this fraction of Retrain's TA has collapsed
MOST_SEEDS = 100  # maximum number of seeds that is proposed


@dataclass(frozen=True)
class Samples:
    """Input of the tests: rates of all methods and of Retrain, by seed.

    The measures are UA, MIA, the errors on near retained, near test, far retained and far test
    examples, and the damage: the error on near retained examples minus that on far retained ones.
    """

    runs: Floats  # rates of the methods, (..., methods, measures, seeds); NaN where undefined
    retrained: Floats  # (..., measures, seeds)
    steps: Floats  # (measures,), change of each measure if the prediction for one example changes
    stated: Floats  # (measures,), margins stated in the config; NaN where the margin is estimated

    @property
    def reference(self) -> Floats:
        """One copy of Retrain's rates per method; NaN where the method's own rate is NaN."""
        return np.where(np.isnan(self.runs), np.nan, self.retrained[..., None, :, :])

    @property
    def spread(self) -> Floats:
        """Retrain's standard deviation over seeds, per measure."""
        return np.sqrt(moments(self.retrained)[1])

    @property
    def margins(self) -> Floats:
        """Largest difference from Retrain that counts as equal, by measure.

        It is the margin of the config; if there is none, it is estimated from Retrain's seeds.
        """
        estimated = np.maximum(FACTOR * self.spread, self.steps)
        return np.where(np.isnan(self.stated), estimated, self.stated)

    @property
    def is_near_loss(self) -> Flags:
        """A mask of damage, for the methods whose far loss is 0 in every seed.

        Their damage is the near loss, so that its tests are those of the near loss.
        """
        far_loss = self.runs[..., FAR, :] - self.reference[..., FAR, :]
        return np.asarray((far_loss == 0).all(axis=-1)[..., None] & IS_DAMAGE)


@dataclass(frozen=True)
class Tested:
    """Test results and answers, (..., methods, measures)."""

    mean: Floats  # mean difference from Retrain
    # Ends of the difference's confidence interval, at the level at which the test decided.
    low: Floats
    high: Floats
    p: Floats  # p-values, adjusted over the measures of the method and over methods
    equivalence_low: Floats  # ends of the equivalence test's interval, 90 % at level 5 %
    equivalence_high: Floats
    equivalence_p: Floats
    within: Flags  # whether the difference is shown to be inside the margin
    # 1 or -1 if a difference above or below Retrain is shown: its interval excludes zero, and its
    # mean is beyond the margin; else 0.
    shown: NDArray[np.int64]

    @property
    def is_defined(self) -> Flags:
        """Whether a measure has a number for a method."""
        return ~np.isnan(self.equivalence_p)


def run_tests(samples: Samples, level: float = ALPHA) -> Tested:
    """Compare all measures of each method with Retrain's."""
    contrast = scaled_contrast(samples)
    p = np.where(samples.is_near_loss, np.nan, contrast.p)  # it is tested once, as the near loss
    adjusted = holm(p)
    shares = level_shares(adjusted, level)[..., None]
    levels = holm_levels(p, level * shares[..., 0])
    mean = moments(samples.runs)[0] - moments(samples.reference)[0]
    mean = _copy_near_loss(samples, mean)  # the same number, but for rounding
    low, high = _interval(mean, contrast, levels, p < levels, _slopes(samples))
    plain = _plain_contrast(samples)
    equivalent = _equivalence_p(samples, plain)
    beyond = np.abs(mean) > samples.margins[..., None, :] * (1 + LAST_BITS)
    adjusted = np.minimum(adjusted / shares, 1.0)
    low, high, adjusted = (_copy_near_loss(samples, values) for values in (low, high, adjusted))
    is_found = (low > 0) | (high < 0)
    return Tested(
        mean,
        low,
        high,
        adjusted,
        *plain.interval(2 * level),
        equivalent,
        within=equivalent < level,
        shown=np.where(is_found & beyond, np.sign(mean), 0).astype(np.int64),
    )


def _copy_near_loss(samples: Samples, values: Floats) -> Floats:
    """Return values per method and measure; if far loss is 0, damage gets those of near loss."""
    return np.where(samples.is_near_loss, values[..., NEAR : NEAR + 1], values)


def level_shares(adjusted: Floats, level: float) -> Floats:
    """Return the share of the level that the tests of each method have, (..., methods).

    `adjusted` are p-values, adjusted by Holm over the measures of each method. Benjamini and
    Hochberg's procedure finds R of m methods that differ; their share is R / m (Benjamini and
    Bogomolov 2014). The share of all others is (R + 1) / m, at which none of them differs.
    """
    smallest = np.where(np.isnan(adjusted), np.inf, adjusted).min(axis=-1)
    smallest = np.where(np.isinf(smallest), np.nan, smallest)
    num_methods = np.maximum(np.count_nonzero(~np.isnan(smallest), axis=-1), 1)[..., None]
    found = count_discoveries(smallest, level)[..., None]
    is_found = smallest * num_methods < level * found
    shares: Floats = np.where(is_found, found, np.minimum(found + 1, num_methods)) / num_methods
    return shares


def scaled_contrast(samples: Samples) -> Contrast:
    """Compare methods with Retrain by Welch's t-test of arcsin √rate (transformed rates).

    Damage is a difference of two rates and is not transformed. The typical variance, which is the
    median over all methods and Retrain, replaces every variance below it. The variance of a
    difference is at least that caused by one example in one seed.
    """
    first, second = _scaled(samples.runs), _scaled(samples.reference)
    smallest = _scaled_steps(samples) ** 2 / (2 * moments(first)[2])
    own = np.maximum(moments(first)[1], smallest)
    retrained = moments(_scaled(samples.retrained))[1][..., None, :]
    # Retrain counts once in the median, because its samples are the same for all methods.
    pool = np.concatenate([own, retrained], axis=-2)
    is_known = ~np.isnan(pool).all(axis=-2, keepdims=True)
    typical = np.nanmedian(np.where(is_known, pool, 0.0), axis=-2, keepdims=True)
    return unpaired(first, second, np.fmax(smallest, typical))


def _scaled(rates: Floats) -> Floats:
    return np.where(IS_DAMAGE[:, None], rates, angle(rates))


def _scaled_steps(samples: Samples) -> Floats:
    """Return by how much each transformed measure changes if one prediction changes.

    The change is computed at the mean of the method's rate and Retrain's.
    """
    rate = (moments(samples.runs)[0] + moments(samples.reference)[0]) / 2
    return np.where(IS_DAMAGE, samples.steps, angle_step(rate, samples.steps))


def _slopes(samples: Samples) -> Floats:
    """Return the factor that converts a difference of arcsin √rate into a difference of rates.

    It is the slope of the line between the means of the method and of Retrain. For damage it is 1.
    """
    first, second = (moments(_scaled(rates))[0] for rates in (samples.runs, samples.reference))
    secant = np.sinc((first - second) / np.pi) * np.sin(first + second)
    smallest = samples.steps / _scaled_steps(samples)
    return np.where(IS_DAMAGE, 1.0, np.fmax(secant, smallest))


def _interval(
    mean: Floats, contrast: Contrast, levels: Floats, is_found: Flags, slope: Floats
) -> tuple[Floats, Floats]:
    """Return the confidence intervals of the differences in rates.

    An interval excludes zero only if the test found a difference.
    """
    low, high = contrast.interval(levels)
    half = (high - low) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(contrast.mean == 0, slope, mean / contrast.mean)
    narrow, wide = half * ratio, np.fmax(half * slope, np.abs(mean))
    half = np.where(is_found & (ratio > 0), narrow, wide)
    return mean - half, mean + half


def _plain_contrast(samples: Samples) -> Contrast:
    """Compare the untransformed rates of methods and Retrain, for the tests of equivalence.

    Their margins are differences of rates.
    """
    count = moments(samples.runs)[2]
    plain = unpaired(samples.runs, samples.reference, samples.steps**2 / (2 * count))
    parts = (plain.mean, plain.error, plain.freedom)
    return Contrast(*(_copy_near_loss(samples, part) for part in parts))


def _equivalence_p(samples: Samples, plain: Contrast) -> Floats:
    spread = samples.spread[..., None, :]
    freedom = moments(samples.retrained)[2][..., None, :] - 1
    estimated = equivalence_p(plain, spread, freedom, samples.steps)
    return np.where(np.isnan(samples.stated), estimated, tost_p(plain, samples.stated))


def decide(tested: Tested, is_collapsed: Flags) -> NDArray[np.str_]:
    """Return, for each method, the first verdict in the order of VERDICTS that holds."""
    holds = (
        is_collapsed,
        ((tested.shown > 0) & IS_LOSS).any(axis=-1),
        (tested.shown != 0).any(axis=-1),
        _pass_all(tested.within, tested.is_defined),
    )
    return np.select(holds, list(VERDICTS)[: len(holds)], default=OPEN)


def _pass_all(passes: Flags, is_defined: Flags) -> Flags:
    """Tell which methods pass the test of every measure; an undefined one is not passed."""
    return np.asarray((passes & is_defined).all(axis=-1))


def seeds_needed(samples: Samples, level: float = ALPHA) -> Floats:
    """Return how many seeds the tests need to decide about each method.

    With so many seeds, they show a difference from Retrain, or equivalence, with a probability of
    80 %. The number is NaN if more than 100 seeds are needed. Means and standard deviations are
    assumed to stay as they are with the seeds so far.
    """
    num_seeds = samples.runs.shape[-1]
    contrast, plain = scaled_contrast(samples), _plain_contrast(samples)
    beyond = np.abs(plain.mean) > samples.margins[..., None, :] * (1 + LAST_BITS)
    share = level_shares(holm(contrast.p), level)[..., None] / len(MEASURES)
    needed = np.full(contrast.mean.shape[:-1], np.nan)
    for count in range(MOST_SEEDS, num_seeds, -1):
        more = _with_seeds(contrast, num_seeds, count)
        critical = stdtrit(more.freedom, 1 - level * share / 2) + POWER_80
        differs = ((np.abs(more.t) >= critical) & beyond).any(axis=-1)
        alike = _is_equivalent_with(samples, _with_seeds(plain, num_seeds, count), count, level)
        needed = np.where(differs | alike, float(count), needed)
    return needed


def _with_seeds(contrast: Contrast, num_seeds: int, count: int) -> Contrast:
    """Return the comparison expected with `count` seeds, if means and variances do not change."""
    error = contrast.error * np.sqrt(num_seeds / count)
    return Contrast(contrast.mean, error, contrast.freedom * (count - 1) / (num_seeds - 1))


def _is_equivalent_with(samples: Samples, plain: Contrast, count: int, level: float) -> Flags:
    """Tell which methods would pass all equivalence tests with a probability of 80 %."""
    away = Contrast(np.abs(plain.mean) + POWER_80 * plain.error, plain.error, plain.freedom)
    spread = samples.spread[..., None, :]
    by_example = tost_p(away, samples.steps) < level / np.where(spread > 0, 2, 1)
    by_mover = mover_limit(away, spread, count - 1, level / 2) < 0
    stated = tost_p(away, samples.stated) < level
    passes = np.where(np.isnan(samples.stated), by_example | by_mover, stated)
    return _pass_all(passes, ~np.isnan(plain.mean))

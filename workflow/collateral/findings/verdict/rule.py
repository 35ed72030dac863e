"""Tests of the methods of a cell against Retrain, and the verdicts that follow from them.

All methods and measures of a cell are one family of tests. The functions take arrays with the axes
(methods, measures, seeds); further axes may come first. docs/statistics.md has the reasons and the
calibration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from collateral.contract.verdicts import ALPHA, MEASURES, TESTS
from collateral.findings.verdict import UNDECIDED, VERDICTS
from collateral.metrics.differences import (
    FACTOR,
    LAST_BITS,
    Contrast,
    angle,
    angle_step,
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
UA, DAMAGE = MEASURES.index("ua"), MEASURES.index("damage")
# The last test compares a method's UA with the midpoint of the base model's UA and Retrain's.
# Every other test compares one measure of the method with Retrain's.
MIDPOINT = TESTS.index("midpoint")
# Masks over the tests that mark the test of damage, and the midpoint test.
IS_DAMAGE, IS_MIDPOINT = (np.arange(len(TESTS)) == test for test in (DAMAGE, MIDPOINT))
# 80 % quantile of the standard normal: proposed numbers of seeds give the tests 80 % power.
POWER_80 = 0.8416
LEAST_SHARE = 0.5  # a method with TA below this fraction of Retrain's TA has collapsed
MOST_SEEDS = 100  # maximum number of seeds that is proposed


@dataclass(frozen=True)
class Samples:
    """Input of the tests: rates of all methods, of Retrain and of the base model, by seed.

    The measures are UA, MIA, the errors on near retained, far retained and far test examples, and
    the damage: the error on near retained examples minus the error on far retained examples.
    """

    runs: Floats  # rates of the methods, (..., methods, measures, seeds); NaN where undefined
    retrained: Floats  # (..., measures, seeds)
    base_ua: Floats  # (..., seeds)
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
    def room(self) -> Floats:
        """Base model's accuracy on the forget set (UA) minus Retrain's, mean over seeds."""
        return moments(self.base_ua - self.retrained[..., UA, :])[0]

    @property
    def is_forgettable(self) -> Flags:
        """Whether the base model's accuracy on the forget set (UA) is clearly above Retrain's.

        It is if the difference exceeds the margin of UA; else there is nothing to forget.
        """
        return self.room > self.margins[..., UA]


@dataclass(frozen=True)
class Tested:
    """Test results, (..., methods, tests).

    The arrays of the equivalence tests have no entry for the midpoint test.
    """

    mean: Floats  # mean difference from Retrain, or from the midpoint
    # Ends of the difference's confidence interval, at the level that Holm's method gives the test.
    low: Floats
    high: Floats
    p: Floats  # p-values, adjusted by Holm's method over all methods and tests
    equivalence_low: Floats  # ends of the equivalence test's interval, 90 % at level 5 %
    equivalence_high: Floats
    equivalence_p: Floats

    def is_above(self, measure: str) -> Flags:
        """Tell which methods are significantly above Retrain in a measure."""
        return self.low[..., MEASURES.index(measure)] > 0

    def is_below(self, measure: str) -> Flags:
        """Tell which methods are significantly below Retrain in a measure."""
        return self.high[..., MEASURES.index(measure)] < 0


def run_tests(samples: Samples, level: float = ALPHA) -> Tested:
    """Compare all measures of each method with Retrain's, and its UA with the midpoint.

    The midpoint is the mean of the base model's UA and Retrain's.
    """
    runs, reference = with_midpoint(samples)
    contrast = scaled_contrast(runs, reference, samples.steps)
    p = _p_values(contrast)
    family = p.reshape(*p.shape[:-2], -1)
    adjusted, levels = (f.reshape(p.shape) for f in (holm(family), holm_levels(family, level)))
    mean = moments(runs)[0] - moments(reference)[0]
    low, high = _interval(mean, contrast, levels, p < levels, _slopes(runs, reference, samples))
    plain = _plain_contrast(samples)
    equivalence = (*plain.interval(2 * level), _equivalence_p(samples, plain))
    return Tested(mean, low, high, adjusted, *equivalence)


def with_midpoint(samples: Samples) -> tuple[Floats, Floats]:
    """Return the rates of methods and of Retrain, with one more measure for the midpoint test.

    For methods, this measure is UA. For Retrain, it is the midpoint: the mean of the base model's
    UA and Retrain's.
    The midpoint is NaN unless the base model's UA is above Retrain's by more than the margin.
    """
    ua = samples.runs[..., UA : UA + 1, :]
    middle = (samples.base_ua + samples.retrained[..., UA, :]) / 2
    middle = np.where(samples.is_forgettable[..., None], middle, np.nan)[..., None, None, :]
    middle = np.where(np.isnan(ua), np.nan, middle)
    return (
        np.concatenate([samples.runs, ua], axis=-2),
        np.concatenate([samples.reference, middle], axis=-2),
    )


def scaled_contrast(runs: Floats, reference: Floats, steps: Floats) -> Contrast:
    """Compare methods with Retrain by Welch's t-test of arcsin √rate (transformed rates).

    Damage is a difference of two rates and is not transformed. The typical variance, which is the
    median over all methods and Retrain, replaces every variance below it. A variance is at least
    that caused by one example in one seed.
    """
    first, second = _scaled(runs), _scaled(reference)
    smallest = _scaled_steps(runs, reference, steps) ** 2 / (2 * moments(first)[2])
    own, other = (np.maximum(moments(values)[1], smallest) for values in (first, second))
    # Retrain counts once in the median, because its samples are the same for all methods.
    pool = np.concatenate([own, other[..., :1, :]], axis=-2)
    is_known = ~np.isnan(pool).all(axis=-2, keepdims=True)
    typical = np.nanmedian(np.where(is_known, pool, 0.0), axis=-2, keepdims=True)
    return unpaired(first, second, np.fmax(smallest, typical))


def _scaled(rates: Floats) -> Floats:
    return np.where(IS_DAMAGE[:, None], rates, angle(rates))


def _scaled_steps(runs: Floats, reference: Floats, steps: Floats) -> Floats:
    """Return by how much each transformed measure changes if one prediction changes.

    The change is computed at the mean of the method's rate and Retrain's.
    """
    rate = (moments(runs)[0] + moments(reference)[0]) / 2
    steps = np.append(steps, steps[UA])
    return np.where(IS_DAMAGE, steps, angle_step(rate, steps))


def _p_values(contrast: Contrast) -> Floats:
    """Return the p-value of each test, before the adjustment by Holm's method.

    The midpoint test (is UA above the midpoint?) is one-sided, all other tests are two-sided.
    """
    return np.where(IS_MIDPOINT, contrast.p_above, contrast.p)


def _slopes(runs: Floats, reference: Floats, samples: Samples) -> Floats:
    """Return the factor that converts a difference of arcsin √rate into a difference of rates.

    It is the slope of the line between the means of the method and of Retrain. For damage it is 1.
    """
    first, second = moments(_scaled(runs))[0], moments(_scaled(reference))[0]
    secant = np.sinc((first - second) / np.pi) * np.sin(first + second)
    steps = np.append(samples.steps, samples.steps[UA])
    smallest = steps / _scaled_steps(runs, reference, samples.steps)
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
    return unpaired(samples.runs, samples.reference, samples.steps**2 / (2 * count))


def _equivalence_p(samples: Samples, plain: Contrast) -> Floats:
    spread = samples.spread[..., None, :]
    freedom = moments(samples.retrained)[2][..., None, :] - 1
    estimated = equivalence_p(plain, spread, freedom, samples.steps)
    return np.where(np.isnan(samples.stated), estimated, tost_p(plain, samples.stated))


def decide(
    samples: Samples, tested: Tested, is_collapsed: Flags, level: float = ALPHA
) -> NDArray[np.str_]:
    """Return, for each method, the first verdict in the order of VERDICTS that holds."""
    hurts_near = tested.is_above("near") & tested.is_above("damage")
    hurts_far = find_far_loss(samples, tested)
    is_found = (tested.low > 0) | (tested.high < 0)
    holds = (
        is_collapsed,
        keeps_memory(samples, tested, level),
        hurts_near & hurts_far,
        hurts_near,
        hurts_far,
        is_equivalent(tested, level),
        is_found[..., :MIDPOINT].any(axis=-1),
    )
    return np.select(holds, list(VERDICTS)[: len(holds)], default=UNDECIDED)


def keeps_memory(samples: Samples, tested: Tested, level: float) -> Flags:
    """Tell which methods did not forget: UA exceeds the midpoint of the base's UA and Retrain's.

    If the base model's UA is not above Retrain's by more than the margin, UA cannot tell. Then a
    method did not forget if its MIA is below Retrain's.
    """
    by_ua = tested.p[..., MIDPOINT] < level
    # If the base model's UA is unknown (NaN), MIA is not used either.
    is_without_room = ~samples.is_forgettable & ~np.isnan(samples.room)
    return by_ua | (is_without_room[..., None] & tested.is_below("mia"))


def is_equivalent(tested: Tested, level: float) -> Flags:
    """Tell which methods are equivalent to Retrain on every measure that is defined."""
    return _pass_all(tested.equivalence_p < level, np.isnan(tested.equivalence_p))


def _pass_all(passes: Flags, is_undefined: Flags) -> Flags:
    """Tell which methods pass the test of every measure that is defined.

    A method whose UA or damage is undefined does not pass.
    """
    is_tested = ~is_undefined[..., (UA, DAMAGE)].any(axis=-1)
    return np.asarray((passes | is_undefined).all(axis=-1) & is_tested)


def find_far_loss(samples: Samples, tested: Tested) -> Flags:
    """Tell which methods lose accuracy on far examples, significantly and more than the margin."""
    found = np.zeros(tested.mean.shape[:-1], dtype=bool)
    for measure in ("far", "far_test"):
        place = MEASURES.index(measure)
        is_large = tested.mean[..., place] > samples.margins[..., None, place] * (1 + LAST_BITS)
        found |= tested.is_above(measure) & is_large
    return found


def seeds_needed(samples: Samples, level: float = ALPHA) -> Floats:
    """Return how many seeds the tests need to decide about each method.

    With so many seeds, they find a difference from Retrain, or equivalence, with a probability of
    80 %. The number is NaN if more than 100 seeds are needed. Means and standard deviations are
    assumed to stay as they are with the seeds so far.
    """
    num_seeds = samples.runs.shape[-1]
    contrast = scaled_contrast(*with_midpoint(samples), samples.steps)
    plain = _plain_contrast(samples)
    num_tests = contrast.mean.shape[-1] * contrast.mean.shape[-2]
    needed = np.full(contrast.mean.shape[:-1], np.nan)
    for count in range(MOST_SEEDS, num_seeds, -1):
        more = _with_seeds(contrast, num_seeds, count)
        critical = stdtrit(more.freedom, 1 - level / num_tests / 2) + POWER_80
        differs = (np.abs(more.t) >= critical)[..., :MIDPOINT].any(axis=-1)
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
    return _pass_all(passes, np.isnan(plain.mean[..., : len(MEASURES)]))

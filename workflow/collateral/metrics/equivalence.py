"""Equivalence to Retrain: is a difference of means smaller than a margin?

A stated margin is tested by two one-sided t-tests (TOST). Without one, the margin is estimated:
1.96 √2 times Retrain's standard deviation over seeds, which holds 95 % of the differences between
two retrainings. An estimated margin has an error of its own, which MOVER takes into account (the
rule of Zou and Donner for the sum of two estimates); TOST alone would exceed its level.
"""

import numpy as np
from scipy.special import chdtri, stdtr, stdtrit

from collateral.metrics.arrays import AnyFloats, Floats
from collateral.metrics.differences import LAST_BITS, Contrast

FACTOR = 1.96 * 2**0.5  # estimated margin, as a multiple of Retrain's standard deviation over seeds
# Range in which the p-value of the MOVER interval is searched by bisection.
SMALLEST_P, LARGEST_P = 1e-4, 0.45
HALVINGS = 16  # number of bisection steps


def is_beyond(difference: float, margin: float) -> bool:
    """Tell whether a difference is larger than the margin; a difference on the margin is not."""
    return difference > margin * (1 + LAST_BITS)


def tost_p(contrast: Contrast, margin: float | AnyFloats) -> Floats:
    """Return the larger p-value of the two one-sided t-tests for a stated margin."""
    room = np.asarray(margin) * (1 - LAST_BITS) - np.abs(contrast.mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = room / contrast.error
    return stdtr(contrast.freedom, -t)


def mover_limit(
    contrast: Contrast, sd: AnyFloats, sd_freedom: float | AnyFloats, alpha: float | AnyFloats
) -> Floats:
    """Return the upper limit of |difference| minus the estimated margin; equivalent if below 0."""
    lowest_sd = sd * np.sqrt(sd_freedom / chdtri(sd_freedom, alpha))
    half = stdtrit(contrast.freedom, 1 - alpha) * contrast.error
    reach: Floats = np.hypot(half, FACTOR * (sd - lowest_sd))
    return np.abs(contrast.mean) - FACTOR * sd + reach


def mover_p(contrast: Contrast, sd: AnyFloats, sd_freedom: float | AnyFloats) -> Floats:
    """Return the smallest level at which MOVER finds equivalence; 1 if that is above 0.45.

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
    """Return the p-value of a difference below the estimated margin, or below one example's weight.

    Each of the two tests has half of the level. If `sd` is 0, only the margin of one example
    (`step`) is tested.
    """
    within_example = tost_p(contrast, step)
    either = np.minimum(2 * np.fmin(mover_p(contrast, sd, sd_freedom), within_example), 1.0)
    return np.where(sd > 0, either, within_example)

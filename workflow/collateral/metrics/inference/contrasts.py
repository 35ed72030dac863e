"""Difference between the means of two samples over seeds: estimate, p-values and intervals.

The last axis of every array is the seed; NaN marks a missing seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Contrast:
    """Differences of means, their standard errors and degrees of freedom, as arrays."""

    mean: Floats
    error: Floats
    freedom: Floats

    @property
    def p(self) -> Floats:
        """Two-sided p-values by Student's t; NaN with fewer than two seeds."""
        p: Floats = 2 * stdtr(self.freedom, -np.abs(self.t))
        return p

    @property
    def p_above(self) -> Floats:
        """One-sided p-values of a difference above zero."""
        p: Floats = stdtr(self.freedom, -self.t)
        return p

    @property
    def t(self) -> Floats:
        """Differences in standard errors; 0 where there is no difference."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.mean == 0, 0.0, self.mean / self.error)

    def interval(self, alpha: float | Floats) -> tuple[Floats, Floats]:
        """Return the ends of the 1 - alpha interval of every difference."""
        half = stdtrit(self.freedom, 1 - np.asarray(alpha) / 2) * self.error
        return self.mean - half, self.mean + half


def unpaired(run: Floats, reference: Floats, least: float | Floats = 0.0) -> Contrast:
    """Compare two independent samples by Welch's t; `least` is the smallest variance of each."""
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
    """Return mean, variance (ddof=1) and number of the defined values; NaN below two of them."""
    is_defined = ~np.isnan(values)
    count = is_defined.sum(axis=-1).astype(np.float64)
    count = np.where(count >= 2, count, np.nan)
    filled = np.where(is_defined, values, 0.0)
    mean = filled.sum(axis=-1) / count
    squares = np.where(is_defined, (filled - mean[..., None]) ** 2, 0.0)
    return mean, squares.sum(axis=-1) / (count - 1), count


def angle(rate: Floats) -> Floats:
    """Return arcsin √rate, on which the spread of a rate hardly depends on the rate itself."""
    angles: Floats = np.arcsin(np.sqrt(np.clip(rate, 0.0, 1.0)))
    return angles


def angle_step(rate: Floats, step: Floats) -> Floats:
    """Return the change of the angle of a rate by one example, which is `step` of the rate."""
    smaller = np.clip(np.minimum(rate, 1 - rate), 0.0, 1.0)
    return angle(smaller + step) - angle(smaller)

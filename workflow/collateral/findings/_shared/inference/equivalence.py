"""Is a run as Retrain is? Two one-sided tests, within what sets two retrainings apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from collateral.contract.metrics import LAST_BITS
from collateral.findings._shared.inference.differences import (
    ALPHA,
    LEAST_SEEDS,
    standard_error,
    t_interval,
)

Floats = NDArray[np.floating]
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests: the larger p-value, and the 90 % interval, within where both reject."""

    low: float
    high: float
    p: float


UNTESTED = Equivalence(math.nan, math.nan, math.nan)


def margin_of(mean_square: float | Floats) -> NDArray[np.float64]:
    """Return the margin: 95 % of differences between two retrainings, of that mean square, are in.

    The mean square over pairs is twice Retrain's variance over seeds (ddof=1).
    """
    return NORMAL_95 * np.sqrt(np.asarray(mean_square, dtype=np.float64))


def is_beyond(difference: float, margin: float) -> bool:
    """Tell whether a difference is above the margin, not just on it."""
    return difference > margin * (1 + LAST_BITS)


def equivalence(differences: Floats, margin: float, step: float) -> Equivalence:
    """Test the differences of one sample, NaN left out; `step` as in differences.py."""
    known = differences[~np.isnan(differences)]
    if len(known) < LEAST_SEEDS:
        return UNTESTED
    low, high = t_interval(known, 2 * ALPHA, step)
    return Equivalence(float(low), float(high), float(equivalence_p(known, margin, step)))


def equivalence_p(
    differences: Floats, margin: float | Floats, step: float = 0.0
) -> NDArray[np.float64]:
    """Return the larger p-value of the two one-sided t-tests over the last axis (TOST).

    What is on the margin is not within.
    """
    room = np.asarray(margin) * (1 - LAST_BITS) - np.abs(differences.mean(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 / 0: within no margin at all
        t = room / standard_error(differences, step)
    p: NDArray[np.float64] = stdtr(differences.shape[-1] - 1, -t)
    return p

"""Is a run as Retrain is? Two one-sided tests, within what sets two retrainings apart."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

Floats = NDArray[np.floating]
NORMAL_95 = 1.96


def margin_of(mean_square: float | Floats) -> NDArray[np.float64]:
    """Return the margin: 95 % of differences between two retrainings, of that mean square, are in.

    The mean square over pairs is twice Retrain's variance over seeds (ddof=1).
    """
    return NORMAL_95 * np.sqrt(np.asarray(mean_square, dtype=np.float64))


def equivalence_p(differences: Floats, margin: float | Floats) -> NDArray[np.float64]:
    """Return the larger p-value of the two one-sided t-tests over the last axis (TOST)."""
    n = differences.shape[-1]
    room = np.asarray(margin) - np.abs(differences.mean(axis=-1))
    error = differences.std(axis=-1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Without spread there is no doubt on which side of the margin it is; on it is inside.
        t = np.where(error > 0, room / error, np.where(room >= 0, np.inf, -np.inf))
    p: NDArray[np.float64] = stdtr(n - 1, -t)
    return p

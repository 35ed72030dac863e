"""Where an unlearned model differs from Retrain: by bins of similarity, example by example."""

import numpy as np
from numpy.typing import NDArray

from collateral.metrics.similarity import NUM_BINS

Floats = NDArray[np.floating]


def bin_mean(values: Floats, bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of `values` in each bin; NaN where a bin is empty."""
    means = np.full(NUM_BINS, np.nan)
    counts = bin_count(bins)
    sums = np.bincount(bins, weights=values, minlength=NUM_BINS)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def bin_count(bins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many examples are in each bin."""
    return np.bincount(bins, minlength=NUM_BINS)


def disagreement(prediction: NDArray[np.int64], retrained: NDArray[np.int64]) -> float:
    """Return the share of examples of which the two models predict different classes."""
    return float(np.mean(prediction != retrained)) if len(prediction) else float("nan")


def bin_floor(profiles: Floats) -> NDArray[np.float64]:
    """Return the standard deviation of a bin's mean delta between independent retrainings.

    `profiles` (S, bins) is Retrain's own accuracy or confidence by seed and bin. A mean over n
    seeds of differences of two independent retrainings deviates by sqrt(2/n) of one's own
    deviation; n counts the seeds in which the bin is not empty. NaN for n < 2.
    """
    floors = [_floor(column[~np.isnan(column)]) for column in profiles.T]
    return np.array(floors)


def _floor(values: Floats) -> float:
    n = len(values)
    return float(np.sqrt(2 / n) * np.std(values, ddof=1)) if n >= 2 else float("nan")

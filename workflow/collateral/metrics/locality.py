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

    `profiles` (S, S, bins) has the accuracy or confidence of seed j's Retrain in seed i's bins. As
    a delta is, each difference of i and j is taken in the bins of i. Its mean over n seeds, those
    whose bin is not empty, deviates by the root of its mean square over n. NaN for n < 2.
    """
    seeds = np.arange(len(profiles))
    own = profiles[seeds, seeds]  # (S, bins)
    squares = (own[:, None] - profiles) ** 2
    floors = []
    for b in range(profiles.shape[2]):
        has_bin = ~np.isnan(own[:, b])
        n = np.count_nonzero(has_bin)
        pairs = n * (len(profiles) - 1)  # a seed is no pair with itself
        floors.append(np.sqrt(squares[has_bin, :, b].sum() / pairs / n) if n >= 2 else np.nan)
    return np.array(floors)

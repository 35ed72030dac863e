"""Bins of similarity to the forget set, and which examples are near it."""

import numpy as np
from numpy.typing import NDArray

NUM_BINS = 10
NEAR_SHARE = 0.01  # smallest share of near examples in a subset
NEAR_COUNT = 20  # smallest number of near examples of a subset

Floats = NDArray[np.floating]
BinIndex = NDArray[np.int64]
Mask = NDArray[np.bool_]


def bin_edges(values: Floats) -> NDArray[np.float64]:
    """Return the edges of ten bins of equal width between the minimum and maximum of `values`."""
    return np.linspace(float(values.min()), float(values.max()), NUM_BINS + 1)


def assign_bins(values: Floats, edges: NDArray[np.float64]) -> BinIndex:
    """Return the index of the bin of each value; a value on an inner edge is in the upper bin."""
    # Values beyond the inner edges belong to the first or the last bin.
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int64)


def bin_mean(values: Floats, bins: BinIndex, count: int = NUM_BINS) -> NDArray[np.float64]:
    """Return the mean of `values` in each bin; NaN for an empty bin."""
    means = np.full(count, np.nan)
    counts = bin_count(bins, count)
    sums = np.bincount(bins, weights=values, minlength=count)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def bin_count(bins: BinIndex, count: int = NUM_BINS) -> NDArray[np.int64]:
    """Return the number of examples in each bin."""
    return np.bincount(bins, minlength=count)


def first_near_bin(counts: Floats) -> int:
    """Return the index of the least similar bin that counts as near; bin 0 is never near.

    Near are the fewest bins, from the most similar one on, that hold `NEAR_COUNT` examples and the
    share `NEAR_SHARE` of all examples.
    """
    from_top = counts[::-1].cumsum()
    wanted = max(NEAR_COUNT, NEAR_SHARE * from_top[-1])
    num_near = min(int(np.searchsorted(from_top, wanted)) + 1, NUM_BINS - 1)
    return NUM_BINS - num_near


def near_masks(similarity: Floats) -> Mask:
    """Return the mask of near examples in each seed, from similarities (seeds, examples)."""
    edges = bin_edges(similarity)
    bins = np.stack([assign_bins(values, edges) for values in similarity])
    return bins >= first_near_bin(np.mean([bin_count(of_seed) for of_seed in bins], axis=0))


def most_similar_mask(similarity: Floats, count: int) -> Mask:
    """Return the mask of the `count` most similar examples, including all ties at the limit."""
    if count == 0:
        return np.zeros(len(similarity), dtype=bool)
    least = np.partition(similarity, len(similarity) - count)[len(similarity) - count]
    return np.asarray(similarity >= least)

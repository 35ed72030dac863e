"""Similarity to the forget set: cosines of features, bins, and which examples are near."""

from collections.abc import Sequence

import numpy as np

from collateral.metrics.arrays import AnyFloats, Floats, Ints, Mask, Singles

NUM_BINS = 10
LEAST_NEAR = 10  # minimum number of examples of a subset that count as near the forget set
MOST_NEAR = 0.25  # at most this fraction of a subset counts as near the forget set


def similarity(features: AnyFloats, forget: AnyFloats) -> Singles:
    """Return each row's cosine with the sum of the rows of `forget`; 0 for a zero vector.

    The rows of `forget` are not normalised: a long feature vector has a larger weight in the sum.
    """
    direction = forget.sum(axis=0, dtype=np.float64)
    return _cosine(features.astype(np.float64), direction).astype(np.float32)


def similarity_by_class(features: AnyFloats, forget: AnyFloats, label: Ints) -> Singles:
    """Return the similarity of each row to the forgotten examples of each class, (classes, N).

    `label` has the class of each row of `forget`."""
    return np.stack([similarity(features, forget[label == c]) for c in np.unique(label)])


def class_means(features: AnyFloats, label: Ints, num_classes: int) -> Floats:
    """Return the mean features of each class, one row per class; NaN without examples."""
    means = np.full((num_classes, features.shape[1]), np.nan)
    for c in np.unique(label):
        means[c] = features[label == c].mean(axis=0, dtype=np.float64)
    return means


def cosines(rows: AnyFloats, others: AnyFloats) -> Floats:
    """Return the cosine of each row of `rows` with each row of `others`."""
    found = [_cosine(rows.astype(np.float64), other) for other in others.astype(np.float64)]
    return np.stack(found, axis=1)


def most_similar(values: AnyFloats, candidates: Ints, count: int) -> Ints:
    """Return the `count` candidates with the largest values, in descending order."""
    order = np.argsort(-values[candidates], kind="stable")
    return candidates[order[:count]]


def most_similar_in_turns(by_class: AnyFloats, candidates: Ints, count: int) -> Ints:
    """Return `count` candidates; in turns, each class chooses the candidate most similar to it."""
    orders = [most_similar(values, candidates, count) for values in by_class]
    turns = np.stack(orders, axis=1).ravel()
    _, first = np.unique(turns, return_index=True)
    return turns[np.sort(first)][:count]


def _cosine(rows: Floats, direction: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(direction)
    # The cosine with a zero vector counts as 0.
    return np.clip(rows @ direction / np.where(lengths == 0, 1, lengths), -1, 1)


def bin_edges(values: AnyFloats) -> Floats:
    """Return the edges of ten bins of equal width between the minimum and maximum of `values`."""
    return np.linspace(float(values.min()), float(values.max()), NUM_BINS + 1)


def assign_bins(values: AnyFloats, edges: Floats) -> Ints:
    """Return the index of the bin of each value; a value on an inner edge is in the upper bin."""
    # Values outside the outer edges belong to the first or the last bin.
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int64)


def bin_mean(values: AnyFloats, bins: Ints, count: int = NUM_BINS) -> Floats:
    """Return the mean of `values` in each bin; NaN for an empty bin."""
    means = np.full(count, np.nan)
    counts = bin_count(bins, count)
    sums = np.bincount(bins, weights=values, minlength=count)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def bin_count(bins: Ints, count: int = NUM_BINS) -> Ints:
    """Return the number of examples in each bin."""
    return np.bincount(bins, minlength=count)


def near_mask(similarity: AnyFloats, label: Ints, affected: Sequence[int]) -> Mask:
    """Return a mask of the examples near the forget set, which are the most similar ones.

    They are as many as the affected classes have among these examples. If they have none, since
    they are forgotten as a whole, they are as many as a class has on average. They are at least
    `LEAST_NEAR`, but never more than the fraction `MOST_NEAR` of all examples, except for ties.
    """
    num_classes = max(len(np.unique(label)), 1)
    size = int(np.isin(label, affected).sum()) or len(label) // num_classes
    most = int(MOST_NEAR * len(label))
    return most_similar_mask(similarity, min(max(size, LEAST_NEAR), most))


def most_similar_mask(similarity: AnyFloats, count: int) -> Mask:
    """Return a mask of the `count` most similar examples, and of ties with the last of them."""
    if count == 0:
        return np.zeros(len(similarity), dtype=bool)
    least = np.partition(similarity, len(similarity) - count)[len(similarity) - count]
    return np.asarray(similarity >= least)

"""Similarity of examples and classes to the forget set in the base model's features."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def similarity(features: Floats, forget: Floats) -> NDArray[np.float32]:
    """Return the cosine of each row with the sum of the rows of `forget`; 0 for a zero vector.

    The rows of `forget` are not normalised: a long feature vector has a larger weight in the sum.
    """
    direction = forget.sum(axis=0, dtype=np.float64)
    return _cosine(features.astype(np.float64), direction).astype(np.float32)


def similarity_by_class(
    features: Floats, forget: Floats, label: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the similarity to the rows of `forget` of each class in `label`, (classes, N)."""
    return np.stack([similarity(features, forget[label == c]) for c in np.unique(label)])


def class_means(
    features: Floats, label: NDArray[np.int64], num_classes: int
) -> NDArray[np.float64]:
    """Return the mean features of every class (C, D); NaN for a class without examples."""
    means = np.full((num_classes, features.shape[1]), np.nan)
    for c in np.unique(label):
        means[c] = features[label == c].mean(axis=0, dtype=np.float64)
    return means


def cosines(rows: Floats, others: Floats) -> NDArray[np.float64]:
    """Return the cosine of each row with each of `others`, (N, M)."""
    found = [_cosine(rows.astype(np.float64), other) for other in others.astype(np.float64)]
    return np.stack(found, axis=1)


def most_similar(values: Floats, candidates: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the `count` candidates with the largest values, in descending order."""
    order = np.argsort(-values[candidates], kind="stable")
    return candidates[order[:count]]


def most_similar_in_turns(
    by_class: Floats, candidates: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """Return `count` candidates: the most similar one to each class, then the second, and so on."""
    orders = [most_similar(values, candidates, count) for values in by_class]
    turns = np.stack(orders, axis=1).ravel()
    _, first = np.unique(turns, return_index=True)
    found: NDArray[np.int64] = turns[np.sort(first)][:count]
    return found


def _cosine(rows: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(direction)
    # The cosine with a zero vector counts as 0.
    return np.clip(rows @ direction / np.where(lengths == 0, 1, lengths), -1, 1)

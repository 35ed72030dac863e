"""Similarity to the forget set, on features of a few numbers."""

import numpy as np
import pytest

from collateral.metrics.similarity import (
    class_means,
    cosines,
    most_similar,
    similarity,
)


def test_similarity_is_the_cosine_with_the_sum_of_the_forget_features():
    forget = np.array([[3.0, 0.0], [0.0, 4.0]])  # sum (3, 4), length 5
    features = np.array([[1.0, 0.0], [0.0, 2.0], [-6.0, -8.0], [4.0, -3.0]])
    # The mean of normalised rows would give 0.707 for the first two.
    assert similarity(features, forget) == pytest.approx([0.6, 0.8, -1.0, 0.0])


def test_similarity_of_a_vector_of_zeros_is_zero():
    features = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert similarity(features, np.array([[1.0, 0.0]])).tolist() == [0, 1]
    assert similarity(features, np.zeros((2, 2))).tolist() == [0, 0]


def test_similarity_is_between_minus_one_and_one():
    features = np.random.default_rng(0).normal(size=(200, 7)).astype(np.float32)
    own = [similarity(row[None], row[None])[0] for row in features]
    assert max(own) <= 1
    assert min(own) == pytest.approx(1, abs=1e-6)  # float32


def test_cosines_of_equal_and_opposite_vectors_are_not_beyond_their_range_by_rounding():
    rows = np.random.default_rng(0).normal(size=(200, 7))
    found = cosines(np.concatenate([rows, -rows]), rows)
    assert -1 <= found.min() < found.max() <= 1


def test_similarity_is_invariant_to_the_order_of_the_forget_set():
    rng = np.random.default_rng(0)
    features, forget = rng.normal(size=(5, 3)), rng.normal(size=(20, 3))
    shuffled = similarity(features, rng.permutation(forget))
    assert shuffled == pytest.approx(similarity(features, forget), abs=1e-6)  # float32


def test_the_features_of_a_class_are_the_mean_over_its_examples():
    features = np.array([[2.0, 0.0], [4.0, 8.0], [0.0, 5.0]])
    assert class_means(features, np.array([0, 0, 1]), 2).tolist() == [[3, 4], [0, 5]]


def test_the_features_of_an_absent_class_are_undefined():
    means = class_means(np.eye(2), np.array([0, 2]), 3)
    assert np.isnan(means[1]).all()
    assert means[[0, 2]].tolist() == np.eye(2).tolist()
    # Nor has it a similarity.
    assert np.isnan(similarity(means, np.eye(2))).tolist() == [False, True, False]


def test_the_most_similar_come_first_and_ties_in_order():
    values = np.array([0.5, 0.9, 0.5, 0.1, 0.9, 1.0])
    candidates = np.array([0, 1, 2, 3, 4])
    assert most_similar(values, candidates, 3).tolist() == [1, 4, 0]
    assert most_similar(values, candidates, 99).tolist() == [1, 4, 0, 2, 3]

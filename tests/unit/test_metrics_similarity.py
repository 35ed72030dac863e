import numpy as np
import pytest

from collateral.findings.locality.similarity import (
    bin_edges,
    bin_of,
    class_means,
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


def test_similarity_stays_in_its_range():
    features = np.random.default_rng(0).normal(size=(200, 7)).astype(np.float32)
    own = [similarity(row[None], row[None])[0] for row in features]
    assert max(own) <= 1
    assert min(own) == pytest.approx(1, abs=1e-6)  # float32


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


def test_bins_have_equal_widths_over_all_seeds():
    by_seed = np.array([[0.0, 0.5], [0.2, 1.0]])
    assert bin_edges(by_seed) == pytest.approx(np.arange(11) / 10)


def test_an_edge_belongs_to_the_bin_above_and_the_largest_value_to_the_last():
    edges = np.arange(11.0)
    values = np.array([0.0, 0.5, 1.0, 8.99, 9.0, 10.0])
    assert bin_of(values, edges).tolist() == [0, 0, 1, 8, 9, 9]


def test_float32_extremes_are_within_their_own_bins():
    values = np.random.default_rng(0).uniform(-0.3, 0.95, 1000).astype(np.float32)
    bins = bin_of(values, bin_edges(values))
    assert (bins[values.argmin()], bins[values.argmax()]) == (0, 9)
    assert (bins.min(), bins.max()) == (0, 9)


def test_similarities_that_are_all_equal_are_all_in_the_last_bin():
    values = np.full(4, 0.3)
    assert bin_of(values, bin_edges(values)).tolist() == [9, 9, 9, 9]

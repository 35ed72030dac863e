"""Bins of similarity, who is near, disagreement, and the noise of a bin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collateral.metrics.accuracy import disagreement
from collateral.metrics.similarity import (
    assign_bins,
    bin_count,
    bin_edges,
    bin_mean,
    near_mask,
)
from collateral.metrics.statistics import difference_sd

BINS = np.array([0, 0, 9, 9, 9])
VALUES = np.array([1.0, 0.0, 1.0, 1.0, 0.25])


def test_bin_means_are_as_worked_out_by_hand_and_empty_bins_are_gaps():
    assert bin_mean(VALUES, BINS) == pytest.approx([0.5, *[np.nan] * 8, 0.75], nan_ok=True)


def test_bin_counts_name_every_bin():
    assert bin_count(BINS).tolist() == [2, 0, 0, 0, 0, 0, 0, 0, 0, 3]


@given(st.permutations(range(5)))
def test_bin_means_are_invariant_to_the_order_of_the_examples(order):
    shuffled = bin_mean(VALUES[order], BINS[order])
    assert np.array_equal(shuffled, bin_mean(VALUES, BINS), equal_nan=True)


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.integers(0, 9)), min_size=1))
def test_bin_means_of_rates_are_rates(examples):
    values, bins = (np.array(column) for column in zip(*examples, strict=True))
    means = bin_mean(values, bins)
    defined = means[~np.isnan(means)]
    assert (defined >= 0).all() and (defined <= 1).all()
    assert len(defined) == len(set(bins.tolist()))


def test_disagreement_is_the_share_of_different_predictions():
    assert disagreement(np.array([0, 1, 2, 2]), np.array([0, 1, 1, 0])) == 0.5


def test_nobody_disagrees_with_itself():
    assert disagreement(np.array([0, 1, 2]), np.array([0, 1, 2])) == 0


def test_disagreement_on_nothing_is_undefined():
    nothing = np.array([], dtype=np.int64)
    assert math.isnan(disagreement(nothing, nothing))


def in_equal_bins(profiles):
    """Return (S, S, bins) for seeds whose bins hold the same examples."""
    return np.broadcast_to(profiles, (len(profiles), *profiles.shape))


def test_the_noise_of_a_bin_is_the_deviation_of_a_mean_difference():
    # Sample standard deviations 0.1 and 0; three seeds: times sqrt(2/3).
    profiles = np.array([[0.4, 1.0], [0.5, 1.0], [0.6, 1.0]])
    assert difference_sd(in_equal_bins(profiles)) == pytest.approx([0.1 * math.sqrt(2 / 3), 0])


def test_the_noise_of_a_bin_counts_the_seeds_that_have_it():
    # By seed of the bins, then of the model: the bin is empty in the second seed's bins.
    profiles = np.array([[[0.4], [0.6], [0.7]], [[np.nan]] * 3, [[0.5], [0.5], [0.6]]])
    # Squared differences from the own model: 0.04, 0.09; 0.01, 0.01. Four pairs, two seeds.
    assert difference_sd(profiles) == pytest.approx([math.sqrt(0.15 / 4 / 2)])


def test_the_noise_of_a_bin_that_one_seed_has_is_undefined():
    profiles = np.array([[[0.4], [0.6]], [[np.nan], [np.nan]]])
    assert np.isnan(difference_sd(profiles)).all()


def test_who_is_in_a_bin_is_no_noise():
    # Both models are equal in each other's bins; the bins of the two seeds are not alike.
    profiles = np.array([[[0.9], [0.9]], [[0.2], [0.2]]])
    assert difference_sd(profiles) == pytest.approx([0])


def test_the_noise_of_a_bin_predicts_the_spread_between_retrainings():
    rng = np.random.default_rng(0)
    retrained, others = rng.normal(0.8, 0.05, (2, 20_000, 5))  # repeats of five seeds
    spread = (retrained - others).mean(axis=1).std()
    # The noise of a thousand seeds, taken back to five.
    noise = difference_sd(in_equal_bins(retrained.reshape(-1, 1)[:1000]))[0] * math.sqrt(1000 / 5)
    assert noise == pytest.approx(spread, rel=0.12)  # five standard errors


def test_bins_have_equal_widths_over_all_seeds():
    by_seed = np.array([[0.0, 0.5], [0.2, 1.0]])
    assert bin_edges(by_seed) == pytest.approx(np.arange(11) / 10)


def test_an_edge_belongs_to_the_bin_above_and_the_largest_value_to_the_last():
    edges = np.arange(11.0)
    values = np.array([0.0, 0.5, 1.0, 8.99, 9.0, 10.0])
    assert assign_bins(values, edges).tolist() == [0, 0, 1, 8, 9, 9]


def test_float32_extremes_are_within_their_own_bins():
    values = np.random.default_rng(0).uniform(-0.3, 0.95, 1000).astype(np.float32)
    bins = assign_bins(values, bin_edges(values))
    assert (bins[values.argmin()], bins[values.argmax()]) == (0, 9)
    assert (bins.min(), bins.max()) == (0, 9)


def test_similarities_that_are_all_equal_are_all_in_the_last_bin():
    values = np.full(4, 0.3)
    assert assign_bins(values, bin_edges(values)).tolist() == [9, 9, 9, 9]


# Who is near: 40 examples of class 0, 25 of class 1, 15 of class 2, in mixed order.
CLASS = np.random.default_rng(5).permutation(np.repeat([0, 1, 2], [40, 25, 15]))
SIMILARITY = np.random.default_rng(6).permutation(np.linspace(-0.3, 0.9, 80))


def nearest(count: int) -> list[int]:
    return sorted(np.argsort(-SIMILARITY)[:count].tolist())


@pytest.mark.parametrize(
    ("affected", "count"),
    [
        ([2], 15),
        ([1], 20),  # a quarter of all at most
        ([0, 2], 20),
        ([1, 2], 20),
        ([0, 1, 2], 20),  # a forget set of every class
        ([7], 20),  # none of the class is here: as many as a class has, 26, but a quarter at most
    ],
)
def test_near_are_the_most_similar_as_many_as_the_affected_classes_have(affected, count):
    found = near_mask(SIMILARITY, CLASS, affected)
    assert np.flatnonzero(found).tolist() == nearest(count)


def test_of_a_class_that_is_gone_near_are_as_many_as_a_class_has():
    label = np.arange(80) % 5
    assert near_mask(SIMILARITY, label, [9]).sum() == 16
    assert near_mask(SIMILARITY, label, [9, 3]).sum() == 16


def test_at_least_ten_examples_are_near_but_a_quarter_at_most():
    label = np.where(np.arange(80) < 3, 1, 0)
    assert np.flatnonzero(near_mask(SIMILARITY, label, [1])).tolist() == nearest(10)
    assert near_mask(SIMILARITY[:20], label[:20], [1]).sum() == 5
    assert near_mask(SIMILARITY[:3], label[:3], [1]).sum() == 0


def test_among_no_examples_nobody_is_near():
    assert near_mask(np.array([]), np.array([], dtype=np.int64), [1]).shape == (0,)


def test_examples_as_similar_as_the_last_of_the_near_ones_are_near_too():
    similarity = np.where(np.arange(80) < 30, 0.5, SIMILARITY - 1)
    assert np.flatnonzero(near_mask(similarity, CLASS, [2])).tolist() == list(range(30))

"""Locality as a number: known answers, what hardness explains, and what intervals cover."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import Wrong, counted
from scipy.stats import linregress, spearmanr

from collateral.findings.localization.numbers import (
    SimilarityProfile,
    interval_over_seeds,
    nearest_means,
)
from collateral.metrics.association import (
    NUM_SUMS,
    STATISTICS,
    Neighborhood,
    Ranked,
    Resamples,
    deciles,
    logit_margins,
    percentiles,
    pooled_mean,
)
from collateral.metrics.similarity import most_similar_mask

RNG = np.random.default_rng(0)
SIMILARITY = RNG.uniform(-0.2, 0.9, 500)
NEAR = most_similar_mask(SIMILARITY, 40)


def strength(ground: Neighborhood, difference: np.ndarray) -> dict[str, float]:
    sums = ground.summands(Ranked.of(difference)).sum(axis=0)
    assert len(sums) == NUM_SUMS
    return {name: float(statistic(sums)) for name, statistic in STATISTICS.items()}


def test_the_plain_numbers_are_scipys():
    difference = np.abs(0.3 * SIMILARITY + RNG.normal(0, 0.2, 500)).round(1)  # with ties
    found = strength(Neighborhood.whole(Ranked.of(SIMILARITY), NEAR, ~NEAR), difference)
    assert found["locality_slope"] == pytest.approx(linregress(SIMILARITY, difference).slope)
    assert found["locality_rank"] == pytest.approx(spearmanr(SIMILARITY, difference).statistic)
    ratio = difference[NEAR].mean() / difference[~NEAR].mean()
    assert math.exp(found["near_far_ratio"]) == pytest.approx(ratio)


def test_a_difference_that_is_the_similarity_rises_with_it():
    found = strength(Neighborhood.whole(Ranked.of(SIMILARITY), NEAR, ~NEAR), 2 * SIMILARITY + 1)
    assert found["locality_slope"] == pytest.approx(2)
    assert found["locality_rank"] == pytest.approx(1)


def test_no_difference_has_no_slope_and_nothing_else():
    found = strength(Neighborhood.whole(Ranked.of(SIMILARITY), NEAR, ~NEAR), np.zeros(500))
    assert found["locality_slope"] == 0
    assert math.isnan(found["locality_rank"]) and math.isnan(found["near_far_ratio"])


def test_a_loss_of_hard_examples_alone_is_not_counted_as_a_loss_near_the_forget_set():
    # The hardest tenths differ most, and near examples are hard ones.
    tenths = np.clip((10 * SIMILARITY + RNG.normal(0, 3, 500)).astype(np.int64), 0, 9)
    difference = 0.1 * tenths + RNG.normal(0, 0.01, 500)
    plain = strength(Neighborhood.whole(Ranked.of(SIMILARITY), NEAR, ~NEAR), difference)
    found = strength(Neighborhood.within(Ranked.of(SIMILARITY), NEAR, ~NEAR, tenths), difference)
    assert plain["locality_rank"] > 0.5
    assert abs(found["locality_rank"]) < 0.15
    assert plain["locality_slope"] > 0.5 and abs(found["locality_slope"]) < 0.01
    assert math.exp(plain["near_far_ratio"]) > 1.5
    assert math.exp(found["near_far_ratio"]) == pytest.approx(1, abs=0.02)


def test_within_tenths_the_far_ones_weigh_as_the_near_ones_do():
    # Tenth 0: one near of 0.4, far of 0.1 and 0.3. Tenth 1: two near of 0.8, one far of 0.5.
    tenths = np.array([0, 0, 0, 1, 1, 1])
    is_near = np.array([True, False, False, True, True, False])
    difference = np.array([0.4, 0.1, 0.3, 0.8, 0.8, 0.5])
    found = strength(
        Neighborhood.within(Ranked.of(np.arange(6.0)), is_near, ~is_near, tenths), difference
    )
    assert math.exp(found["near_far_ratio"]) == pytest.approx((2 / 3) / (0.2 / 3 + 0.5 * 2 / 3))


def test_near_ones_that_nobody_far_is_as_hard_as_are_left_out():
    tenths = np.array([0, 0, 1])
    is_near = np.array([True, False, True])
    found = strength(
        Neighborhood.within(Ranked.of(np.arange(3.0)), is_near, ~is_near, tenths),
        np.array([0.6, 0.3, 100.0]),
    )
    assert math.exp(found["near_far_ratio"]) == pytest.approx(2)


def test_examples_that_are_neither_near_nor_far_are_in_no_mean_but_in_the_slope():
    is_near, is_far = np.array([[1, 0, 0, 0, 1], [0, 1, 1, 0, 0]], dtype=bool)
    similarity, difference = np.array([0.9, 0.1, 0.2, 0.3, 0.8]), np.array([0.6, 0.1, 0.3, 5, 1])
    found = strength(Neighborhood.whole(Ranked.of(similarity), is_near, is_far), difference)
    assert math.exp(found["near_far_ratio"]) == pytest.approx(0.8 / 0.2)
    assert found["locality_slope"] == pytest.approx(linregress(similarity, difference).slope)


def test_the_partial_slope_is_that_with_a_level_for_each_tenth():
    tenths = deciles(RNG.normal(size=500))
    difference = 0.4 * SIMILARITY + 0.05 * tenths + RNG.normal(0, 0.1, 500)
    dummies = (tenths[:, None] == np.arange(10)).astype(float)
    expected = np.linalg.lstsq(np.column_stack([SIMILARITY, dummies]), difference, rcond=None)[0][0]
    found = strength(Neighborhood.within(Ranked.of(SIMILARITY), NEAR, ~NEAR, tenths), difference)
    assert found["locality_slope"] == pytest.approx(expected)


def test_tenths_are_by_rank_and_equal_values_share_one():
    assert np.bincount(deciles(RNG.permutation(100))).tolist() == [10] * 10
    assert set(deciles(np.ones(7))) == {5}


def test_the_margin_is_the_true_logit_minus_the_largest_other():
    logits = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 6.5]], dtype=np.float16)
    assert logit_margins(logits, np.array([0, 1])).tolist() == [1.0, -1.5]


def test_the_most_similar_are_counted_and_ties_are_in():
    similarity = np.array([0.1, 0.9, 0.5, 0.9])
    assert most_similar_mask(similarity, 2).tolist() == [False, True, False, True]
    assert most_similar_mask(similarity, 1).tolist() == [False, True, False, True]
    assert not most_similar_mask(similarity, 0).any()


def test_slices_from_the_nearest_on_have_their_own_means():
    found = nearest_means(np.arange(200.0))
    assert found[1] == 0.5 and found[2] == 2.5 and found[5] == 6.5
    assert found[50] == pytest.approx(np.arange(40, 100).mean())
    assert found[100] == pytest.approx(np.arange(100, 200).mean())
    assert math.isnan(nearest_means(np.ones(50))[1])


def test_ratios_are_averaged_as_logarithms():
    assert pooled_mean("near_far_ratio", np.array([0.5, 2.0, np.nan])) == pytest.approx(1)
    assert pooled_mean("locality_slope", np.array([0.5, 2.0])) == 1.25
    assert math.isnan(pooled_mean("locality_rank", np.array([np.nan])))


def test_the_interval_over_seeds_wants_two_of_them():
    assert all(map(math.isnan, interval_over_seeds(np.array([0.3, np.nan]))))
    low, high = interval_over_seeds(np.array([1.0, 2.0, 3.0]))
    assert (low, high) == pytest.approx((2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5))


ALL_RIGHT = Wrong(forget=(0, 0), near=(0, 0), far=(0, 0), test=(0, 0))


@pytest.fixture
def profile(tmp_path):
    """Return the retained examples of a cell: FT and GA are wrong on all that are near."""
    near = replace(ALL_RIGHT, near=(40, 40))
    runs = {"retrain": ALL_RIGHT, "ft": near, "ga": replace(near, status=("ok", "diverged"))}
    return SimilarityProfile(counted(runs).write(tmp_path), "retain")


def test_the_first_share_is_of_the_nearest_examples_and_the_last_of_the_farthest(profile):
    rows = [row for row in profile.rows("ft") if row.metric == "nearest_difference"]
    found = {(row.at, row.seed): row.value for row in rows}
    assert [found[1, 0], found[1, 1]] == pytest.approx([0.5, 0.5])
    assert [found[100, 0], found[100, 1]] == [0, 0]


def test_a_run_has_intervals_over_seeds_and_examples_unless_a_seed_diverged(profile):
    for run, is_known in (("ft", True), ("ga", False)):
        ends = {
            row.metric: row.value
            for row in profile.rows(run)
            if row.metric.startswith("locality_slope_") and row.at is None
        }
        assert len(ends) == 4
        assert {not math.isnan(value) for value in ends.values()} == {is_known}


def draws(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    similarity = rng.uniform(0, 1, count)
    return similarity, 0.2 + 0.3 * similarity + rng.uniform(-0.2, 0.2, count)


@pytest.mark.parametrize("is_controlled", [False, True])
def test_intervals_over_examples_cover_95_percent(is_controlled):
    rng, repeats, count = np.random.default_rng(1), 200, 300
    control = rng.integers(0, 10, 100_000) if is_controlled else np.zeros(100_000, np.int64)

    def ground(similarity: np.ndarray) -> Neighborhood:
        groups, near = control[: len(similarity)], similarity > 0.8
        return Neighborhood.within(Ranked.of(similarity), near, ~near, groups)

    similarity, difference = draws(rng, 100_000)
    true = strength(ground(similarity), difference)
    covered = dict.fromkeys(STATISTICS, 0)
    for _ in range(repeats):
        similarity, difference = draws(rng, count)
        sums = Resamples.draw(count, rng).sums(ground(similarity).summands(Ranked.of(difference)))
        for name, statistic in STATISTICS.items():
            low, high = percentiles(statistic(sums), count)
            covered[name] += low <= true[name] <= high
    least = 0.95 - 2 * math.sqrt(0.95 * 0.05 / repeats)
    assert all(count / repeats >= least for count in covered.values()), covered

"""Tests, intervals, equivalence and ranks: answers worked out by hand or known from books."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test, ttest_1samp, ttest_ind

from collateral.contract.verdicts import look_levels
from collateral.metrics.association import (
    MOST_GROUPS,
    Resamples,
    critical_difference,
    friedman_p,
    percentiles,
)
from collateral.metrics.differences import (
    FACTOR,
    Difference,
    angle,
    angle_step,
    chosen_test,
    compare,
    equivalence_p,
    holm,
    holm_levels,
    interval,
    is_beyond,
    mover_limit,
    mover_p,
    p_value,
    tost_p,
    unpaired,
)

THREE = np.array([1.0, 2.0, 3.0])  # mean 2, standard error 1 / sqrt(3)
TEN = np.random.default_rng(0).normal(0.7, 1, 10)


def test_three_seeds_have_students_t():
    assert interval(THREE) == pytest.approx([2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5])
    assert p_value(THREE) == pytest.approx(ttest_1samp(THREE, 0).pvalue)


def test_sign_flips_are_used_if_they_can_reach_the_level():
    # 2 / 2^n against 0.05 / tests: 0.0625 of five seeds, 0.03125 of six, 0.00195 of ten.
    found = [chosen_test(n, tests) for n, tests in ((5, 1), (6, 1), (6, 2), (10, 25), (10, 26))]
    assert found == ["t", "flips", "t", "flips", "t"]


def test_flips_count_the_signs_that_take_the_mean_as_far():
    def mean(x, axis):
        return np.mean(x, axis=axis)

    exact = permutation_test((TEN,), mean, permutation_type="samples", n_resamples=np.inf)
    assert p_value(TEN) == pytest.approx(exact.pvalue)
    assert p_value(np.arange(1.0, 11)) == 2 / 2**10


def test_the_interval_of_flips_is_of_means_of_subsets():
    # Six seeds, 64 flips: at 5 % the first of 63 means of subsets on each side.
    values = np.array([1.0, 2, 3, 4, 5, 6])
    assert interval(values) == (1, 6)
    # At 10 % the third: 1, 1.5 = (1 + 2) / 2, 2 = {2} and {1, 3} and {1, 2, 3}.
    assert interval(values, alpha=0.1) == (2, 5)


@pytest.mark.filterwarnings("error")
def test_seeds_of_no_difference_are_no_finding_and_no_warning():
    for n in (3, 10):
        assert p_value(np.zeros(n)) == 1
        assert interval(np.zeros(n)) == (0, 0)


def test_the_same_difference_in_all_seeds_leaves_no_doubt():
    assert p_value(np.array([0.1, 0.1, 0.1])) == 0


def test_more_seeds_than_can_be_flipped_are_flipped_at_random():
    many = np.random.default_rng(1).normal(0.5, 1, 20)
    assert p_value(many) == pytest.approx(ttest_1samp(many, 0).pvalue, abs=0.01)


# Whole numbers are drawn in a fifth of the time of floats: under load, Hypothesis calls those slow.
ALPHAS = st.sampled_from([0.001, 0.009, 0.04, 0.05, 0.1, 0.2])


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=8), ALPHAS)
def test_the_interval_leaves_zero_out_where_the_test_rejects(values, alpha):
    differences = np.array(values) / 1000
    p = p_value(differences)
    if chosen_test(len(values), 1) == "flips" and alpha < 2 / 2 ** len(values):
        return  # no p-value is so small, and no interval so wide
    low, high = interval(differences, alpha)
    if not math.isclose(p, alpha):
        assert (low > 0 or high < 0) == (p < alpha)


def test_holm_is_as_worked_out_by_hand():
    # Sorted 0.01, 0.03, 0.04: times 3, 2, 1, and none below the one before it.
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    # The first is rejected; the second, at 0.05 / 2, is not, and nothing after it.
    assert holm_levels(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.05 / 3, 0.025, 0.025])


def test_holm_of_nothing_and_of_one():
    assert holm(np.array([])).size == holm_levels(np.array([])).size == 0
    assert (holm(np.array([0.04])), holm_levels(np.array([0.04]))) == (0.04, 0.05)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=9))
def test_holm_rejects_below_its_levels_and_nothing_else(values):
    p = np.array(values) / 1000
    is_close = np.isclose(p, holm_levels(p), rtol=1e-9, atol=0)
    assert ((holm(p) < 0.05) == (p < holm_levels(p)))[~is_close].all()


def test_a_family_is_tested_together_and_a_seed_without_a_number_is_left_out():
    found = compare({"a": THREE, "b": np.array([-1.0, np.nan, 1.0]), "c": np.array([np.nan, 4])})
    assert (found["a"].n, found["b"].n, found["c"].n) == (3, 2, 0)
    assert math.isnan(found["c"].mean) and not found["c"].is_found
    assert found["a"].p == pytest.approx(2 * ttest_1samp(THREE, 0).pvalue)
    half = 6.205347 / 3**0.5  # t of two degrees of freedom at 0.05 / 2 tests, two-sided
    assert (found["a"].low, found["a"].high) == pytest.approx((2 - half, 2 + half))
    assert found["b"].p == 1


@pytest.mark.parametrize(
    ("low", "high", "is_found"),
    [(0.1, 0.3, True), (-0.3, -0.1, True), (-0.1, 0.3, False), (0.0, 0.3, False)],
)
def test_a_difference_is_found_where_its_interval_is_on_one_side_of_zero(low, high, is_found):
    assert Difference((low + high) / 2, low, high, p=0.5, n=3).is_found == is_found


def test_welchs_t_is_scipys_and_a_missing_seed_is_left_out():
    run, retrained = np.array([61.0, 64, 60, 62, 63]), np.array([60.0, 62, 58, 61])
    found, expected = unpaired(run, retrained), ttest_ind(run, retrained, equal_var=False)
    assert (found.p, found.freedom) == pytest.approx((expected.pvalue, expected.df))
    above = ttest_ind(run, retrained, equal_var=False, alternative="greater")
    assert found.p_above == pytest.approx(above.pvalue)
    assert unpaired(run, np.append(retrained, np.nan)).p == pytest.approx(expected.pvalue)
    assert np.isnan(unpaired(run, np.array([1.0, np.nan])).p)


def test_an_interval_by_welch_excludes_zero_where_the_test_rejects():
    run, retrained = np.random.default_rng(0).normal(size=(2, 500, 4))
    found = unpaired(run + 1, retrained)
    low, high = found.interval(0.05)
    assert (((low > 0) | (high < 0)) == (found.p < 0.05)).all()


def test_equal_seeds_have_the_smallest_variance_that_is_given():
    # One example in one of five seeds, of either sample: together a standard error of a fifth.
    found = unpaired(np.full(5, 0.3), np.full(5, 0.2), least=0.1**2 / 10)
    assert (found.mean, found.error, found.freedom) == pytest.approx((0.1, 0.1 / 5, 8))
    assert unpaired(np.full(5, 0.3), np.full(5, 0.2)).p == 0
    assert unpaired(np.full(5, 0.2), np.full(5, 0.2)).p == 1


def test_the_angle_of_a_rate_and_of_one_example():
    assert angle(np.array([0, 0.25, 0.5, 1])) == pytest.approx(
        np.pi * np.array([0, 1 / 6, 1 / 4, 1 / 2])
    )
    assert angle_step(np.array([1.0, 0.0]), 0.25) == pytest.approx([np.pi / 6, np.pi / 6])
    assert angle_step(np.array(0.75), 0.25) == pytest.approx(np.pi / 12)


def test_mover_is_as_worked_out_for_five_seeds():
    run, retrained = np.array([61.0, 64, 60, 62, 63]), np.array([60.0, 62, 58, 61, 59])
    sd = retrained.std(ddof=1)
    # The worked case is paired: the differences against a reference of zeros without spread.
    pairs = run - retrained
    found = replace(unpaired(pairs, np.zeros(5)), freedom=np.array(4.0))
    assert (found.mean, found.error, FACTOR * sd) == pytest.approx(
        (2, 0.547723, 4.382693), abs=1e-6
    )
    assert mover_limit(found, sd, 4, 0.05) == pytest.approx(-0.452470, abs=1e-6)
    assert mover_p(found, sd, 4) == pytest.approx(0.0225, abs=1e-4)
    assert tost_p(found, FACTOR * sd) == pytest.approx(0.0061, abs=1e-4)


def test_either_way_of_equivalence_has_half_of_the_level():
    run, retrained = np.random.default_rng(1).normal(size=(2, 6))
    found, sd = unpaired(run, retrained), retrained.std(ddof=1)
    both = [mover_p(found, sd, 5), tost_p(found, 1.5)]
    assert equivalence_p(found, sd, 5, 1.5) == pytest.approx(min(1, 2 * min(both)))
    assert equivalence_p(found, np.array(0.0), 5, 1.5) == pytest.approx(both[1])


def test_equivalence_is_the_worse_of_two_one_sided_tests():
    zeros = np.zeros(3)
    found = replace(unpaired(THREE, zeros), freedom=np.array(2.0))
    above = ttest_1samp(THREE, -4, alternative="greater").pvalue
    below = ttest_1samp(THREE, 4, alternative="less").pvalue
    assert tost_p(found, 4) == pytest.approx(max(above, below))
    assert tost_p(found, 1) > 0.5


@pytest.mark.parametrize("size", [7, 24, 30, 50, 333])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_on_the_margin_is_neither_within_nor_beyond(size, n):
    for right in range(size):
        run, retrained = np.full(n, (right + 1) / size), np.full(n, right / size)
        for step in (0, 1 / size):
            assert tost_p(unpaired(run, retrained, step**2 / (2 * n)), 1 / size) >= 0.5
        assert not is_beyond((run - retrained).mean(), 1 / size)
    assert is_beyond(1.001 / size, 1 / size)


@pytest.mark.parametrize(("n", "p"), [(2, 0.0918), (3, 0.0200), (5, 0.0005)])
def test_counts_equal_to_retrains_are_within_one_example_from_three_seeds_on(n, p):
    # One example is n standard errors, with 2 (n - 1) degrees of freedom.
    equal = unpaired(np.zeros(n), np.zeros(n), 0.1**2 / (2 * n))
    assert tost_p(equal, 0.1) == pytest.approx(p, abs=1e-4)


def test_looks_have_levels_that_sum_to_five_percent():
    assert look_levels([5, 8, 10]) == pytest.approx([0.01, 0.01, 0.03])
    assert look_levels([5, 10]) == pytest.approx([0.02, 0.03])
    assert (look_levels([5]), look_levels([])) == ([0.05], [])


def test_missing_numbers_do_not_count_as_tests_of_the_family():
    p = np.array([0.01, np.nan, 0.04, 0.03])
    assert holm(p) == pytest.approx([0.03, np.nan, 0.06, 0.06], nan_ok=True)
    assert holm_levels(p)[[0, 2, 3]] == pytest.approx([0.05 / 3, 0.025, 0.025])


def test_the_critical_difference_is_demsars():
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)  # his example
    assert critical_difference(10, 30) == pytest.approx(3.164 * math.sqrt(110 / 180), abs=0.001)
    assert math.isnan(critical_difference(1, 30)) and math.isnan(critical_difference(4, 1))


def test_friedman_is_as_worked_out_by_hand():
    # Ranks 1, 2, 3 in all of four cells: chi squared is 8 with two degrees of freedom.
    assert friedman_p(np.tile([0.1, 0.2, 0.3], (4, 1))) == pytest.approx(math.exp(-4))
    assert friedman_p(np.ones((4, 3))) == 1
    assert math.isnan(friedman_p(np.ones((4, 2)))) and math.isnan(friedman_p(np.ones((1, 3))))


@pytest.mark.parametrize("count", [1000, 7001])  # the second in groups of three and four
def test_resamples_have_as_many_examples_and_their_spread(count):
    values = np.random.default_rng(0).normal(3, 2, count)
    drawn = Resamples.draw(count, np.random.default_rng(1))
    sums = drawn.sums(np.column_stack([np.ones(count), values]))
    assert sums[:, 0].mean() == pytest.approx(count, rel=0.01)
    means = sums[:, 1] / sums[:, 0]
    assert means.std() == pytest.approx(values.std() / count**0.5, rel=0.15)


def test_many_examples_are_resampled_in_groups_drawn_at_random_and_few_each_for_itself():
    """Examples come in the order of similarity, so groups of adjacent ones would be alike."""
    few, many = (
        Resamples.draw(count, np.random.default_rng(0)) for count in (MOST_GROUPS, 3 * MOST_GROUPS)
    )
    assert few.order.tolist() == few.starts.tolist() == list(range(MOST_GROUPS))
    assert sorted(many.order) == list(range(3 * MOST_GROUPS))
    spans = np.ptp(many.order.reshape(-1, 3), axis=1)
    assert np.median(spans) > MOST_GROUPS


def test_percentiles_hold_95_percent_and_nothing_undefined():
    assert percentiles(np.arange(401.0), 10**6) == pytest.approx((10, 390), abs=0.01)
    # Of ten examples the levels are those of t: sqrt(10 / 9) * 2.262 standard deviations.
    assert percentiles(np.arange(401.0), 10) == pytest.approx((3.42, 396.58), abs=0.01)
    assert all(map(math.isnan, percentiles(np.array([1.0, math.nan]), 10)))
    # Of two, t has one degree of freedom, and the interval is the whole range; of one it has none.
    assert percentiles(np.arange(401.0), 2) == pytest.approx((0, 400))
    assert all(map(math.isnan, percentiles(np.arange(401.0), 1)))

"""Tests, intervals, equivalence and ranks: answers worked out by hand or known from books."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test, ttest_1samp
from scipy.stats import t as student

from collateral.findings._shared.inference.differences import (
    chosen_test,
    compare,
    holm,
    holm_levels,
    interval,
    p_above,
    p_value,
    standard_error,
    t_interval,
)
from collateral.findings._shared.inference.equivalence import (
    UNTESTED,
    equivalence,
    equivalence_p,
    is_beyond,
    margin_of,
)
from collateral.findings._shared.inference.examples import Resamples, percentiles
from collateral.findings._shared.inference.ranks import critical_difference, friedman_p

THREE = np.array([1.0, 2.0, 3.0])  # mean 2, standard error 1 / sqrt(3)
TEN = np.random.default_rng(0).normal(0.7, 1, 10)


def test_three_seeds_have_students_t():
    assert interval(THREE) == pytest.approx([2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5])
    assert p_value(THREE) == pytest.approx(ttest_1samp(THREE, 0).pvalue)
    assert p_above(THREE) == pytest.approx(ttest_1samp(THREE, 0, alternative="greater").pvalue)
    assert p_above(-THREE) == pytest.approx(1 - p_above(THREE))


def test_flips_are_taken_where_they_can_reach_the_level():
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


def test_seeds_of_no_difference_are_no_finding():
    for n in (3, 10):
        assert p_value(np.zeros(n)) == 1
        assert interval(np.zeros(n)) == (0, 0)


def test_the_same_difference_in_all_seeds_leaves_no_doubt():
    assert p_value(np.array([0.1, 0.1, 0.1])) == 0
    assert p_above(np.array([-0.1, -0.1, -0.1])) == 1


def test_counts_that_are_equal_in_all_seeds_are_as_if_one_were_one_example_off():
    for n in (2, 3, 5):
        almost = np.array([0.0] * (n - 1) + [0.1])
        assert standard_error(np.full(n, 0.7), 0.1) == pytest.approx(standard_error(almost))
        assert standard_error(almost, 0.1) == pytest.approx(standard_error(almost))
    assert standard_error(THREE, 0.1) == standard_error(THREE)


def test_two_equal_seeds_leave_doubt_and_five_less():
    # Ten examples are 20 standard errors of two seeds, and 50 of five.
    two, five = np.full(2, 1.0), np.full(5, 1.0)
    assert p_value(two, step=0.1) == pytest.approx(0.0318, abs=1e-4)
    assert p_above(two, 0.1) == pytest.approx(0.0159, abs=1e-4)
    assert p_value(five, step=0.1) < 1e-6
    assert interval(two, step=0.1) == pytest.approx([1 - 12.7062 / 20, 1 + 12.7062 / 20])
    assert compare({"a": two}, {"a": 0.1})["a"].p == p_value(two, step=0.1)
    assert compare({"a": two})["a"].p == 0


@pytest.mark.parametrize("num_tests", [1, 16])
def test_ten_seeds_of_no_more_spread_than_a_step_are_not_flipped(num_tests):
    # One example is ten standard errors, with nine degrees of freedom.
    equal, one_off = np.full(10, 0.1), np.array([0.1] * 9 + [0.2])
    assert chosen_test(10, num_tests) == "flips"
    for sample, t in ((equal, 10), (one_off, 11)):
        found = compare(dict.fromkeys(range(num_tests), sample), dict.fromkeys(range(16), 0.1))[0]
        assert found.p == pytest.approx(num_tests * 2 * student.sf(t, 9))
        ends = t_interval(sample, 0.05 / num_tests, 0.1)
        assert (found.low, found.high) == pytest.approx(ends)
        assert found.low < found.mean < found.high


def test_ten_seeds_of_more_spread_than_a_step_are_flipped():
    two_off = np.array([0.1] * 8 + [0.2] * 2)
    assert compare({"a": two_off}, {"a": 0.1}) == compare({"a": two_off})
    assert p_value(two_off, step=0.1) == p_value(np.full(10, 0.1)) == 2 / 2**10
    both = p_value(np.array([two_off, np.full(10, 0.1)]), step=0.1)
    assert both == pytest.approx([2 / 2**10, 2 * student.sf(10, 9)])


def test_more_seeds_than_can_be_flipped_are_flipped_at_random():
    many = np.random.default_rng(1).normal(0.5, 1, 20)
    assert p_value(many) == pytest.approx(ttest_1samp(many, 0).pvalue, abs=0.01)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=8), st.floats(0.001, 0.2))
def test_the_interval_leaves_zero_out_where_the_test_rejects(values, alpha):
    differences = np.round(values, 3)
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


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_holm_rejects_below_its_levels_and_nothing_else(values):
    p = np.array(values)
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


def test_the_margin_is_where_95_percent_of_two_retrainings_differ():
    retrained = np.array([0.5, 0.6, 0.8])
    squares = [(a - b) ** 2 for a in retrained for b in retrained if a != b]
    expected = 1.96 * math.sqrt(2) * retrained.std(ddof=1)
    assert margin_of(np.mean(squares)) == pytest.approx(expected)


def test_equivalence_is_the_worse_of_two_one_sided_tests():
    above = ttest_1samp(THREE, -4, alternative="greater").pvalue
    below = ttest_1samp(THREE, 4, alternative="less").pvalue
    assert equivalence_p(THREE, 4) == pytest.approx(max(above, below))
    assert equivalence_p(-THREE, 4) == pytest.approx(max(above, below))
    assert equivalence_p(THREE, 1) > 0.5


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=8), st.integers(1, 9))
def test_the_tests_reject_where_the_90_percent_interval_is_within_the_margin(counts, margin):
    differences = np.array(counts) / 30
    found = equivalence(differences, margin / 30, 1 / 30)
    if not math.isclose(found.p, 0.05):
        assert (max(-found.low, found.high) < margin / 30) == (found.p < 0.05)
    assert (found.low, found.high) == t_interval(differences, 0.1, 1 / 30)


def test_nothing_is_said_of_one_seed():
    assert equivalence(np.array([0.0, np.nan]), 1, 0.1) is UNTESTED


@pytest.mark.parametrize("size", [7, 24, 30, 50, 333])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_on_the_margin_is_neither_within_nor_beyond(size, n):
    for right in range(size):
        one_more = np.full(n, (right + 1) / size - right / size)
        for step in (0, 1 / size):
            assert equivalence_p(one_more, 1 / size, step) >= 0.5
        assert not is_beyond(one_more.mean(), 1 / size)
    assert is_beyond(1.001 / size, 1 / size)


def test_without_spread_what_is_within_is_equivalent_and_what_is_beyond_is_not():
    assert equivalence_p(np.full(3, 0.2), 0.25) < 1e-9
    assert equivalence_p(np.full(3, 0.5), 0.25) == 1
    assert not equivalence_p(np.zeros(3), 0) < 1  # there is nothing within


@pytest.mark.parametrize(("n", "p"), [(2, 0.1476), (3, 0.0477), (5, 0.0037)])
def test_counts_equal_to_retrains_are_within_one_example_from_three_seeds_on(n, p):
    # One example is n standard errors.
    assert equivalence_p(np.zeros(n), 0.1, 0.1) == pytest.approx(p, abs=1e-4)


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


def test_percentiles_hold_95_percent_and_nothing_undefined():
    assert percentiles(np.arange(401.0), 10**6) == pytest.approx((10, 390), abs=0.01)
    # Of ten examples the levels are those of t: sqrt(10 / 9) * 2.262 standard deviations.
    assert percentiles(np.arange(401.0), 10) == pytest.approx((3.42, 396.58), abs=0.01)
    assert all(map(math.isnan, percentiles(np.array([1.0, math.nan]), 10)))

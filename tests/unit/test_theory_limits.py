"""The rates and the means of P1 to P3, over random data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paper.theory import checks, models
from paper.theory.interpolation import draw_points

seeds = st.integers(0, 2**32 - 1)
RUNS = 50


def few_examples(count):
    return settings(max_examples=count, deadline=None, derandomize=True)


def test_the_slope_of_a_power_law_is_its_exponent():
    x = np.array([1.0, 10.0, 100.0])
    assert checks.slope(x, 3 * x**-2) == pytest.approx(-2)


@few_examples(5)
@given(seed=seeds)
def test_the_remainder_of_p1_falls_as_one_over_n(seed):
    remainders = checks.remainders(np.random.default_rng(seed), RUNS)
    # The next order adds terms of relative size 1/n, d/n = 2.5 % at the smallest n.
    assert checks.slope(checks.NUM_POINTS, remainders) == pytest.approx(-1, abs=0.05)


@few_examples(20)
@given(seed=seeds, m=st.integers(1, 6))
def test_the_limit_of_p3_is_reached_linearly_in_lam(seed, m):
    data = draw_points(np.random.default_rng(seed), 10, 15, 20, m)
    small = checks.LAMBDAS[2:]  # where the second order, lam^2, is below the tolerance
    errors = np.abs(checks.limit_errors(data, small)).max((1, 2))
    assert checks.slope(small, errors) == pytest.approx(1, abs=0.02)


@few_examples(20)
@given(seed=seeds, m=st.integers(1, 6))
def test_the_rate_of_p3_is_the_first_order_one(seed, m):
    data = draw_points(np.random.default_rng(seed), 10, 15, 20, m)
    lam = 1e-8
    [error] = checks.limit_errors(data, np.array([lam]))
    rate = models.rate(data.X, data.z_limit)
    # The second order is lam times as large, with a factor of some thousands.
    np.testing.assert_allclose(error / lam, rate, atol=1e-4 * np.abs(rate).max())


@pytest.mark.parametrize("end_of", [checks.random_labels_end, checks.retain_finetuning_end])
class TestTheMeanTrajectory:
    @few_examples(4)
    @given(seed=seeds)
    def test_tends_to_its_limit(self, end_of, seed):
        end = end_of(np.random.default_rng(seed), RUNS)
        assert checks.largest_t(end.logits, end.limit) < checks.critical_t(end.logits)

    def test_does_not_tend_to_retraining(self, end_of):
        end = end_of(np.random.default_rng(0), RUNS)
        assert checks.largest_t(end.logits, end.retrained) > 2 * checks.critical_t(end.logits)


def test_largest_t_by_hand():
    # mean 2, standard deviation sqrt(2), standard error 1
    logits = np.array([[1.0, 0.0], [3.0, 4.0]])
    assert checks.largest_t(logits, np.array([5.0, 2.0])) == pytest.approx(3)

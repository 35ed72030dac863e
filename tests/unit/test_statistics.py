"""Small statistics of metrics/, by hand."""

import math

import numpy as np
import pytest

from collateral.metrics.likelihood_attacks import min_learned_share
from collateral.metrics.statistics import t_quantile, within_seed_correlation


@pytest.mark.parametrize("tests", [1, 5])
def test_the_quantile_of_two_values_is_that_of_cauchy_at_the_level_of_one_test(tests):
    expected = math.tan(math.pi * (0.5 - 0.025 / tests))
    assert t_quantile(2, tests) == pytest.approx(expected)
    assert math.isnan(t_quantile(1, tests))


def test_a_correlation_within_seeds_leaves_the_means_of_seeds_out():
    """Deviations are (-1, -2), (0, 0), (1, 2) and (-1, 0), (1, 0), (0, 0)."""
    values = np.array([[1.0, 10.0], [2.0, 12.0], [3.0, 14.0]])
    others = np.array([[1.0, 5.0], [3.0, 5.0], [2.0, 5.0]])
    assert within_seed_correlation(values, others) == pytest.approx(1 / math.sqrt(10 * 2))
    assert math.isnan(within_seed_correlation(values, np.ones((3, 2))))


def test_what_a_pool_has_learned_is_the_least_share_of_its_models():
    margins = np.array([[0.5, -1.0, 0.0], [0.2, 2.0, -3.0]], dtype=np.float32)
    is_in = np.array([[True, True, False], [True, True, True]])
    assert min_learned_share(margins, is_in) == 1 / 2
    assert min_learned_share(margins[1:], is_in[1:]) == pytest.approx(2 / 3)

"""What a number of seeds will be able to show, held to scipy's noncentral t and to draws."""

import math

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_ind

from collateral.metrics.power import detectable


@pytest.mark.parametrize(("seeds", "methods"), [(2, 1), (3, 8), (5, 8), (10, 20)])
def test_the_smallest_difference_is_found_in_80_percent(seeds, methods):
    shift = detectable(seeds, methods) * math.sqrt(seeds / 2)
    freedom = 2 * (seeds - 1)
    critical = t.isf(0.05 / (7 * methods) / 2, freedom)
    assert nct.sf(critical, freedom, shift) == pytest.approx(0.8, abs=0.001)


def test_draws_are_found_as_often():
    # Five seeds, one method, seven tests: a two-sided level of 5 / 7 %.
    rng = np.random.default_rng(0)
    run, retrained = rng.normal(size=(2, 20_000, 5))
    p = ttest_ind(run + detectable(5, 1), retrained, axis=1).pvalue
    assert np.mean(p < 0.05 / 7) == pytest.approx(0.8, abs=0.01)  # three standard errors


def test_more_seeds_show_more_and_more_methods_less():
    assert detectable(3, 8) > detectable(5, 8) > detectable(10, 8)
    assert detectable(5, 1) < detectable(5, 8)


def test_one_seed_shows_nothing():
    assert math.isinf(detectable(1, 8))

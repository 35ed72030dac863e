"""What a number of seeds will be able to show, held to scipy's noncentral t and to draws."""

import math

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_ind

from collateral.contract.power import detectable, tail


@pytest.mark.parametrize("freedom", [1, 2, 4, 9, 30])
def test_the_tail_is_that_of_students_t(freedom):
    for at in (0.5, 3.0, 40.0):
        assert tail(at, 0, freedom) == pytest.approx(t.sf(at, freedom), rel=1e-6)
        assert tail(at, at, freedom) == pytest.approx(nct.sf(at, freedom, at), rel=1e-6)


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

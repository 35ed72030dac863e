"""Experiments that are drawn, to see how often they are called a finding and are covered.

A rate may miss its level by two Monte-Carlo standard errors.
"""

import math

import numpy as np
import pytest

from collateral.contract.verdicts import ALPHA
from collateral.metrics.association import Resamples, percentiles
from collateral.metrics.differences import (
    FACTOR,
    holm,
    interval,
    mover_limit,
    p_value,
    tost_p,
    unpaired,
)

NUM_METHODS = 8
REPEATS = {
    3: 20_000,
    5: 20_000,
    10: 1000,
}  # experiments: of ten seeds all flips are tried
SEEDS = list(REPEATS)


def slack(rate: float, repeats: int) -> float:
    return 2 * math.sqrt(rate * (1 - rate) / repeats)


def draw(n: int, num_methods: int = NUM_METHODS) -> tuple[np.ndarray, np.ndarray]:
    """Return methods, (experiments, methods, seeds), and Retrain, (experiments, 1, seeds)."""
    rng = np.random.default_rng(n)
    shape = (REPEATS[n], num_methods, n)
    return rng.normal(size=shape), rng.normal(size=(shape[0], 1, n))


@pytest.mark.parametrize("n", SEEDS)
def test_of_experiments_without_an_effect_at_most_5_percent_have_a_finding(n):
    methods, retrained = draw(n)
    p = holm(p_value(methods - retrained, NUM_METHODS))
    found = (p < ALPHA).any(axis=-1).mean()
    assert 0.01 < found <= ALPHA + slack(ALPHA, REPEATS[n])


@pytest.mark.parametrize("num_tests", [1, 50])
@pytest.mark.parametrize("n", SEEDS)
def test_intervals_over_seeds_cover_95_percent(n, num_tests):
    methods, retrained = draw(n, 1)
    low, high = interval(methods - retrained + 0.3, ALPHA, num_tests)
    covered = ((low <= 0.3) & (high >= 0.3)).mean()
    assert covered >= 1 - ALPHA - slack(ALPHA, REPEATS[n])
    assert covered <= 1 - ALPHA + 2 * slack(ALPHA, REPEATS[n])


@pytest.mark.parametrize(("n", "rate"), [(3, 0.41), (5, 0.80), (10, 0.99)])
def test_equal_methods_are_called_equivalent_at_the_stated_rate(n, rate):
    methods, retrained = draw(n, 1)
    limit = mover_limit(unpaired(methods, retrained), retrained.std(-1, ddof=1), n - 1, ALPHA)
    assert (limit < 0).mean() == pytest.approx(rate, abs=0.01 + slack(rate, REPEATS[n]))


@pytest.mark.parametrize("n", SEEDS)
def test_of_methods_a_known_margin_away_at_most_5_percent_are_called_equivalent(n):
    methods, retrained = draw(n, 1)
    passed = (tost_p(unpaired(methods + FACTOR, retrained), FACTOR) < ALPHA).mean()
    assert passed <= ALPHA + slack(ALPHA, REPEATS[n])


@pytest.mark.parametrize("n", [3, 5, 8, 10, 30])
def test_of_methods_an_estimated_margin_away_at_most_5_percent_are_called_equivalent(n):
    repeats = 20_000
    methods, retrained = np.random.default_rng(n).normal(size=(2, repeats, n))
    away, sd = unpaired(methods + FACTOR, retrained), retrained.std(-1, ddof=1)
    passed = (mover_limit(away, sd, n - 1, ALPHA) < 0).mean()
    assert passed <= ALPHA + slack(ALPHA, repeats)
    # A margin taken for known has a level that grows with the number of seeds.
    if n >= 5:
        assert (tost_p(away, FACTOR * sd) < ALPHA).mean() > 0.07


@pytest.mark.parametrize("num_examples", [50, 300])
def test_intervals_over_examples_cover_95_percent(num_examples):
    rng = np.random.default_rng(num_examples)
    repeats, covered = 400, 0
    for values in rng.normal(0.2, 1, (repeats, num_examples)):
        columns = np.column_stack([np.ones(num_examples), values])
        sums = Resamples.draw(num_examples, rng).sums(columns)
        low, high = percentiles(sums[:, 1] / sums[:, 0], num_examples)
        covered += low <= 0.2 <= high
    assert covered / repeats >= 1 - ALPHA - slack(ALPHA, repeats)

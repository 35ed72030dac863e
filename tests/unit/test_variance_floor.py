"""The least variance of a difference: that of differences of which one, by one example, is not 0.

Tests of equivalence and of difference must not be surer than such a sample of differences allows,
however well the few seeds of a method and of Retrain agree.
"""

import numpy as np
import pytest

from collateral.contract.verdicts import MEASURES
from collateral.findings.verdict.rule import DAMAGE, Samples, _plain_contrast, scaled_contrast

COUNTS = np.array([38, 38, 13, 11, 240, 97, 13])  # examples of each measure
RATES = np.array([0.21, 0.36, 0.08, 0.18, 0.01, 0.06, 0.07])  # the same for all methods and seeds


def without_spread(num_seeds: int, num_methods: int = 2) -> Samples:
    """Rates that are the same in all seeds, of every method and of Retrain."""
    retrained = np.repeat(RATES[:, None], num_seeds, axis=1)
    runs = np.repeat(retrained[None], num_methods, axis=0)
    return Samples(runs, retrained, 1 / COUNTS, np.full(len(MEASURES), np.nan))


def standard_error(differences: list[float]) -> float:
    """Standard error of a mean."""
    return float(np.std(differences, ddof=1) / np.sqrt(len(differences)))


@pytest.mark.parametrize("num_seeds", [2, 3, 5, 8])
def test_the_error_of_a_plain_difference_is_at_least_that_of_one_example_in_one_seed(num_seeds):
    found = _plain_contrast(without_spread(num_seeds)).error
    rest = [0.0] * (num_seeds - 1)
    least = [standard_error([1 / count, *rest]) for count in COUNTS]
    assert found == pytest.approx(np.broadcast_to(least, found.shape), rel=1e-12)


@pytest.mark.parametrize("num_seeds", [2, 3, 5, 8])
def test_the_error_of_a_scaled_difference_is_at_least_that_of_one_example_in_one_seed(num_seeds):
    found = scaled_contrast(without_spread(num_seeds)).error
    rest = [0.0] * (num_seeds - 1)
    moved = np.arcsin(np.sqrt(RATES + 1 / COUNTS)) - np.arcsin(np.sqrt(RATES))
    moved[DAMAGE] = 1 / COUNTS[DAMAGE]
    least = [standard_error([one, *rest]) for one in moved]
    assert found == pytest.approx(np.broadcast_to(least, found.shape), rel=1e-12)


def test_a_spread_above_the_least_stays_as_it_is():
    samples = without_spread(5)
    rng = np.random.default_rng(4)
    runs = samples.runs + rng.normal(0, 0.04, samples.runs.shape)
    retrained = samples.retrained + rng.normal(0, 0.03, samples.retrained.shape)
    found = _plain_contrast(Samples(runs, retrained, samples.steps, samples.stated)).error
    variance = runs.var(axis=-1, ddof=1) + retrained.var(axis=-1, ddof=1)
    assert np.sqrt(variance / 5)[:, :2] == pytest.approx(found[:, :2], rel=1e-12)

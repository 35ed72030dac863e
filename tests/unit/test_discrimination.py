"""How well a number tells two groups apart: closed-form values and limits."""

import math

import numpy as np
import pytest

from collateral.config.schema import TrustConfig
from collateral.metrics.discrimination import (
    adjacent_auc,
    auc,
    delong_variance,
    dose_concordance,
    paired_auc,
    paired_variance,
    relative_change,
    separated_limit,
)

SAW, NOT = np.array([3.0, 5.0, 5.0, 7.0]), np.array([1.0, 3.0, 4.0, 5.0])
DOSES = np.array([0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
VALUES = np.array([0.1, 0.2, 0.2, 0.4, 0.4, 0.9])


def test_auc_counts_ties_one_half():
    assert auc(SAW, NOT) == pytest.approx(0.78125, abs=1e-12)
    assert auc(NOT, SAW) == pytest.approx(1 - 0.78125, abs=1e-12)


def test_values_that_differ_by_rounding_alone_are_ties():
    """A product of rates in another order, as in ToW, differs in the last bits."""
    rates = np.array([[0.1, 0.7, 0.9], [0.2, 0.11, 0.97], [0.3, 0.2, 0.83]])
    forward, backward = rates.prod(axis=0), (rates[2] * rates[1]) * rates[0]
    assert (forward != backward).any()
    assert auc(forward, backward) == auc(forward, forward) == 0.5
    assert auc(-forward, -backward) == 0.5
    assert auc(1e-12 * forward, 1e-12 * backward) == 0.5  # relative to the values
    assert paired_auc(np.append(forward, 1.0), np.append(backward, 0.0))[0] == 11.5 / 16
    assert dose_concordance(np.array([0.0, 0.5]), np.array([0.3, 0.1 + 0.2])) == 0.5


def test_values_that_differ_by_more_are_no_ties():
    assert auc(np.array([0.5 + 1e-6, 1e-12]), np.array([0.5, 0.0])) == 0.75
    assert auc(np.array([0.0]), np.array([0.0])) == 0.5


def test_rounding_about_zero_is_a_tie():
    assert auc(np.array([1e-17, 0.0, -2e-16]), np.array([0.0, 3e-17])) == 0.5
    assert auc(np.array([1e-11]), np.array([0.0])) == 1


@pytest.mark.filterwarnings("error")
def test_infinite_values_are_ordered_and_tie_only_with_themselves():
    inf = np.inf
    assert auc(np.array([inf]), np.array([1.0, -inf, 0.0])) == 1
    assert auc(np.array([-inf]), np.array([1.0, inf])) == 0
    assert auc(np.array([inf, -inf]), np.array([inf])) == 0.25
    assert auc(np.array([-inf]), np.array([-inf])) == 0.5


def test_variance_of_delong_and_of_pairs():
    assert delong_variance(SAW, NOT) == pytest.approx(0.030599, abs=1e-6)
    assert paired_variance(SAW, NOT) == pytest.approx(0.006510, abs=1e-6)


@pytest.mark.parametrize(("n", "limit"), [(20, 0.899), (30, 0.933), (100, 0.980)])
def test_separated_groups_have_a_limit_below_one(n, limit):
    assert separated_limit(n) == pytest.approx(limit, abs=5e-4)
    high, low = np.arange(n) + 1000.0, np.arange(n, dtype=float)
    assert paired_auc(high, low) == (1.0, separated_limit(n), 1.0)
    assert paired_auc(low, high) == (0.0, 0.0, pytest.approx(1 - limit, abs=5e-4))


def test_interval_is_around_the_auc_on_the_scale_of_the_logit():
    area, low, high = paired_auc(SAW, NOT)
    half = 1.96 * math.sqrt(0.0065104167) / (area * (1 - area))
    assert math.log(high / (1 - high)) - math.log(area / (1 - area)) == pytest.approx(half)
    assert math.log(area / (1 - area)) - math.log(low / (1 - low)) == pytest.approx(half)


def test_interval_covers_the_truth_in_most_draws_with_correlated_pairs():
    rng, n, covered = np.random.default_rng(0), 40, 0
    shift = 1.0  # the AUC of two normal distributions with this distance is Phi(1 / sqrt 2)
    truth = 0.5 * (1 + math.erf(shift / 2))
    for _ in range(400):
        shared = rng.normal(size=n)
        noise = rng.normal(size=(2, n))
        low = math.sqrt(0.6) * shared + math.sqrt(0.4) * noise[0]
        high = math.sqrt(0.6) * shared + math.sqrt(0.4) * noise[1] + shift
        _, least, most = paired_auc(high, low)
        covered += least <= truth <= most
    assert 0.90 <= covered / 400 <= 0.985


def test_a_constant_tells_nothing():
    same = np.full(7, 3.0)
    assert paired_auc(same, same) == (0.5, 0.5, 0.5)
    assert dose_concordance(np.repeat([0.0, 1.0], 7), np.full(14, 3.0)) == 0.5


def test_undefined_values_leave_out_their_pair():
    high = np.append(SAW, [np.nan, 100.0])
    low = np.append(NOT, [0.0, np.nan])
    assert paired_auc(high, low) == paired_auc(SAW, NOT)
    assert all(map(math.isnan, paired_auc(SAW[:1], NOT[:1])))


def test_order_by_dose():
    assert dose_concordance(DOSES, VALUES) == pytest.approx(11 / 12, abs=1e-12)
    # neighbouring doses: (0.2, 0.4) over (0.1, 0.2): 3.5 of 4; (0.4, 0.9) over (0.2, 0.4): 3.5 of 4
    groups = [VALUES[dose == DOSES] for dose in (0.0, 0.5, 1.0)]
    assert adjacent_auc(groups) == pytest.approx(0.875)


def test_order_of_two_doses_is_the_auc():
    doses = np.repeat([1.0, 0.0], 4)
    assert dose_concordance(doses, np.concatenate([SAW, NOT])) == pytest.approx(auc(SAW, NOT))


def test_change_is_relative_to_the_distance_and_not_to_zero():
    saw, not_saw = np.array([0.9, 1.0, 1.1]), np.array([0.4, 0.5, 0.6])
    values = np.concatenate([saw, not_saw])
    assert relative_change(values + 0.05, values, saw, not_saw) == pytest.approx(0.1)
    moved = relative_change(values + 10.05, values + 10, saw + 10, not_saw + 10)
    assert moved == pytest.approx(0.1)
    assert math.isnan(relative_change(values, values, saw, saw))


def test_change_is_of_medians_as_the_config_says():
    saw, not_saw = np.array([0.9, 1.0, 9.0]), np.array([0.4, 0.5, 0.6])
    edited = np.array([0.95, 1.05, 18.0])
    assert relative_change(edited, saw, saw, not_saw) == pytest.approx(0.1)
    said = TrustConfig.model_fields["most_change"].description
    assert "median change" in said and "mean" not in said

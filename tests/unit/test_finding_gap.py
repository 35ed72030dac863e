"""Average gaps and noise floors, worked out by hand and against what chance gives."""

import math

import numpy as np
import pytest

from collateral.findings.gap import TERMS
from collateral.findings.gap.numbers import noise_floors
from collateral.metrics.statistics import average_gap, expected_deviation, mean_of_defined

NAMES = ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected")


def by_seed(**values: list[float]) -> dict[str, np.ndarray]:
    return {name: np.array(values.get(name, [0.5, 0.5])) for name in NAMES}


def average_gaps(run: dict, reference: dict) -> dict[str, float]:
    return {gap: average_gap(run, reference, terms) for gap, terms in TERMS.items()}


RETRAINED = by_seed(ua=[0.4, 0.6], ra=[1.0, 1.0], ra_affected=[0.9, 0.7])


def test_the_gap_is_the_mean_absolute_deviation_of_means():
    run = by_seed(ua=[0.9, 0.7], ra=[0.9, 0.9], ta=[0.7, 0.3], ra_affected=[0.5, 0.5])
    # |0.8 - 0.5|, |0.9 - 1|, |0.5 - 0.5| and 0: of means, so that ta's deviations cancel.
    gaps = average_gaps(run, RETRAINED)
    assert gaps == {"avg_gap": pytest.approx(0.1), "avg_gap_affected": pytest.approx(0.1)}


def test_retrained_against_itself_has_no_gap():
    assert average_gaps(RETRAINED, RETRAINED) == {"avg_gap": 0, "avg_gap_affected": 0}


def test_the_gap_is_invariant_to_the_order_of_the_seeds():
    run = by_seed(ua=[0.9, 0.7], mia=[0.1, 0.2])
    backwards = {name: values[::-1] for name, values in run.items()}
    assert average_gaps(backwards, RETRAINED) == average_gaps(run, RETRAINED)


def test_an_undefined_metric_drops_out_of_the_gap():
    nothing = [math.nan, math.nan]
    retrained = by_seed(ra_affected=nothing)
    run = by_seed(ra_affected=nothing, ua_affected=[0.7, 0.9])
    # |0.8 - 0.5| and 0, over two terms.
    assert average_gaps(run, retrained)["avg_gap_affected"] == pytest.approx(0.15)


def test_a_run_that_diverged_in_one_seed_has_no_gap():
    run = {name: np.array([0.5, math.nan]) for name in NAMES}
    assert all(math.isnan(gap) for gap in average_gaps(run, RETRAINED).values())


def test_the_floor_of_three_retrainings_is_as_worked_out_by_hand():
    # Pairs 0.1, 0.3, 0.2: mean 0.2, over sqrt(3).
    assert expected_deviation(np.array([0.5, 0.6, 0.8])) == pytest.approx(0.2 / math.sqrt(3))


def test_one_retraining_has_no_floor():
    assert math.isnan(expected_deviation(np.array([0.5])))


def test_the_floor_is_the_expected_gap_between_means_of_retrainings():
    rng = np.random.default_rng(0)
    retrained, others = rng.normal(0.7, 0.02, (2, 5000, 5))  # repeats of five seeds
    expected = np.abs(retrained.mean(axis=1) - others.mean(axis=1)).mean()
    floor = np.mean([expected_deviation(values) for values in retrained])
    assert floor == pytest.approx(expected, rel=0.05)  # four standard errors


def test_the_gaps_own_floor_is_the_mean_of_its_terms_floors():
    floors = noise_floors(RETRAINED)
    assert floors["ua"] == pytest.approx(0.2 / math.sqrt(2))
    assert floors["ra"] == 0
    assert floors["avg_gap"] == pytest.approx(0.2 / math.sqrt(2) / 4)
    assert floors["avg_gap_affected"] == pytest.approx(0.2 / math.sqrt(2) / 3)
    assert floors.keys() == {*NAMES, "avg_gap", "avg_gap_affected"}


def test_the_mean_of_nothing_defined_is_undefined():
    assert mean_of_defined([0.2, math.nan, 0.4]) == pytest.approx(0.3)
    assert math.isnan(mean_of_defined([math.nan]))

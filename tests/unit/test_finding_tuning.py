"""Selection regret, worked out by hand on three trials."""

import math

import pytest

from collateral.findings.tuning.numbers import regret, trial_gap

RETRAINED = {"ua": 0.5, "ra": 1.0, "ta": 0.8, "mia": 0.6}


def trial(ua: str, *flags: str) -> dict[str, str]:
    """Return a row of trials.csv that deviates from Retrain in UA alone."""
    marks = {f"is_{mark}": str(mark in flags) for mark in ("candidate", "chosen", "default")}
    return {"lr": ua, "ua": ua, "ra": "1.0", "ta": "0.8", "mia": "0.6", **marks}


def test_a_trial_like_retrain_has_no_gap():
    assert trial_gap(trial("0.5"), RETRAINED) == 0


def test_the_gap_is_the_mean_over_four_metrics():
    assert trial_gap(trial("0.9"), RETRAINED) == pytest.approx(0.1)


def test_regret_is_the_chosen_gap_minus_the_nearest():
    trials = [
        trial("0.1", "candidate", "chosen"),
        trial("0.6", "candidate"),
        trial("0.5", "default"),  # nearer still, but not a candidate
    ]
    found = regret(trials, RETRAINED)
    assert found["gap_chosen"] == pytest.approx(0.1)
    assert found["gap_nearest"] == pytest.approx(0.025)
    assert found["gap_default"] == 0
    assert (found["trial_chosen"], found["trial_nearest"]) == (0, 1)
    assert found["regret"] == pytest.approx(0.075)


def test_a_diverged_trial_is_never_the_nearest():
    gone = {**trial("", "candidate"), "ra": "", "ta": "", "mia": ""}
    found = regret([gone, trial("0.9", "candidate", "chosen", "default")], RETRAINED)
    assert math.isnan(trial_gap(gone, RETRAINED))
    assert found["trial_nearest"] == 1

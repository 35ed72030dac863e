"""Selection regret, worked out by hand on three trials."""

import math
from dataclasses import dataclass

import pytest

from collateral.findings.tuning.numbers import find_teacher_ua, regret, regret_by_rule, trial_gap

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


def candidate(ua: str, ra_affected: str = "0.8", num_affected: str = "1000", teacher_ua: str = ""):
    """Return a candidate that every rule can read."""
    read = {"ra_affected": ra_affected, "num_affected": num_affected, "teacher_ua": teacher_ua}
    return {**trial(ua, "candidate"), **read}


def test_every_rule_selects_among_the_same_trials():
    trials = [
        candidate("0.1", ra_affected="0.6", num_affected="25"),
        candidate("0.3"),
        {**trial("0.5", "default"), "num_affected": ""},
        candidate("0.6"),
    ]
    found = regret_by_rule(trials, RETRAINED, teacher_ua=0.55)
    assert {rule: numbers["rule_trial"] for rule, numbers in found.items()} == {
        "paper": 1,
        "interval": 0,
        "teacher": 3,
    }
    regrets = {rule: numbers["rule_regret"] for rule, numbers in found.items()}
    # Gaps of 0.4, 0.2 and 0.1 in UA alone, one of four numbers.
    assert regrets == pytest.approx({"paper": 0.025, "interval": 0.075, "teacher": 0.0})


def test_a_trials_own_teacher_goes_before_the_cells():
    trials = [candidate("0.2", teacher_ua="0.2"), candidate("0.9", teacher_ua="0.2")]
    assert regret_by_rule(trials, RETRAINED, teacher_ua=0.9)["teacher"]["rule_trial"] == 0


def test_a_rule_without_a_teacher_has_no_regret():
    found = regret_by_rule([candidate("0.2")], RETRAINED, teacher_ua=math.nan)
    assert math.isnan(found["teacher"]["rule_regret"])
    assert found["paper"]["rule_regret"] == 0


@dataclass(frozen=True)
class Told:
    """A run of a seed, and what it reported."""

    run: str
    seed: int
    record: dict


class Taught:
    """A cell in which some runs have a teacher: this one on the first seed, on the other none."""

    seeds = (3, 1)

    def __init__(self, said: dict[str, float]):
        self.said = said

    def results(self):
        yield Told("original", 3, {})
        for run in ("ft", "ltd_steady", "ltd", "ltd@k=5"):
            reported = {"teacher_ua": self.said[run]} if run in self.said else {}
            yield Told(run, 3, {"extra": reported})
            yield Told(run, 1, {"extra": {"teacher_ua": 0.99}})


@pytest.mark.parametrize(
    ("said", "expected"),
    [({"ltd": 0.3, "ltd_steady": 0.4}, 0.3), ({"ltd_steady": 0.4}, 0.4), ({"ltd@k=5": 0.2}, None)],
)
def test_the_local_teacher_is_ltds_or_that_of_another_entry_of_it(said, expected):
    found = find_teacher_ua(Taught(said))
    assert math.isnan(found) if expected is None else found == expected

"""The choice among trials: the paper's rule and its alternative, without a word from Retrain."""

from math import comb, inf, nan

import pytest

from collateral.contract.conventions import RULES
from collateral.metrics.selection import (
    choose,
    choose_by_rule,
    select,
    select_by_teacher,
    upper_limit,
)


def trial(ua: float, ra: float = 0.95, ra_affected: float = 0.8, teacher_ua: float = nan, n=1000):
    read = {"ua": ua, "ra": ra, "ra_affected": ra_affected, "num_affected": n}
    return {**read, "teacher_ua": teacher_ua}


def test_the_lowest_ua_wins_among_good_trials():
    assert select([trial(0.5), trial(0.2), trial(0.3)]) == 1


def test_the_first_of_equals_wins():
    assert select([trial(0.5), trial(0.2), trial(0.2)]) == 1


@pytest.mark.parametrize("bad", [{"ra": 0.9}, {"ra_affected": 0.7}])
def test_a_trial_at_a_bound_is_not_good_enough(bad):
    assert select([trial(0.0, **bad), trial(0.9)]) == 1


@pytest.mark.parametrize("good", [{"ra": 0.9001}, {"ra_affected": 0.7001}])
def test_a_trial_just_above_a_bound_is_good_enough(good):
    assert select([trial(0.0, **good), trial(0.9)]) == 0


def test_without_a_good_trial_the_highest_ra_wins():
    assert select([trial(0.1, ra=0.5), trial(0.9, ra=0.8), trial(0.0, ra=0.8)]) == 1


def test_a_high_ra_without_affected_ra_counts_when_nothing_is_good():
    assert select([trial(0.1, ra=0.85), trial(0.9, ra=0.99, ra_affected=0.1)]) == 1


def test_an_undefined_affected_ra_excludes_no_trial():
    assert select([trial(0.5, ra_affected=nan), trial(0.6)]) == 0


def test_a_diverged_trial_is_chosen_only_if_all_diverged():
    diverged = trial(nan, ra=nan, ra_affected=nan)
    assert select([diverged, trial(0.9, ra=0.1)]) == 1
    assert select([diverged, diverged]) == 0


@pytest.mark.parametrize("key", ["ta", "ta_affected", "mia", "seconds"])
@pytest.mark.parametrize("value", [nan, -inf, inf])
def test_the_key_pictures_does_not_change_the_selection(key, value):
    trials = [trial(0.5, teacher_ua=0.1), trial(0.2, teacher_ua=0.1)]
    seen = [{**trials[0], key: value}, trials[1]]
    assert select(seen) == select(trials)
    assert select_by_teacher(seen) == select_by_teacher(trials)


def test_the_alternative_is_the_ua_nearest_to_the_teachers():
    trials = [trial(0.1, teacher_ua=0.4), trial(0.5, teacher_ua=0.4), trial(0.2, teacher_ua=0.4)]
    assert select_by_teacher(trials) == 1


def test_each_trial_is_compared_with_its_own_teacher():
    assert select_by_teacher([trial(0.3, teacher_ua=0.4), trial(0.6, teacher_ua=0.6)]) == 1


def test_the_alternative_prefers_good_trials():
    near_but_bad = trial(0.4, ra=0.5, teacher_ua=0.4)
    assert select_by_teacher([near_but_bad, trial(0.9, teacher_ua=0.4)]) == 1
    assert select_by_teacher([near_but_bad]) == 0


def test_there_is_no_alternative_without_a_teacher():
    assert select_by_teacher([trial(0.1), trial(0.2)]) is None


def test_the_alternative_is_never_a_trial_that_diverged():
    diverged = trial(nan, ra=nan, ra_affected=nan, teacher_ua=0.4)
    assert select_by_teacher([diverged, trial(0.1, ra=0.5, teacher_ua=0.4)]) == 1
    assert select_by_teacher([diverged]) is None


# The interval


@pytest.mark.parametrize(("right", "count"), [(0, 10), (3, 10), (15, 25), (24, 25), (700, 1000)])
def test_above_its_upper_limit_a_rate_would_leave_so_few_right_in_one_of_twenty(right, count):
    end = upper_limit(right / count, count)
    left = sum(comb(count, i) * end**i * (1 - end) ** (count - i) for i in range(right + 1))
    assert left == pytest.approx(0.05)


def test_where_all_are_right_the_interval_ends_at_one():
    assert upper_limit(1.0, 25) == 1.0


def test_few_examples_do_not_speak_against_a_trial_and_many_do():
    def chosen(n: int) -> dict:
        return choose_by_rule([trial(0.2, ra_affected=0.6, n=n), trial(0.5)])

    assert (chosen(25)["interval"], chosen(1000)["interval"]) == (0, 1)
    assert chosen(25)["paper"] == chosen(1000)["paper"] == 1


def test_the_rule_interval_still_requires_ra():
    assert choose_by_rule([trial(0.2, ra=0.9, ra_affected=0.6, n=25), trial(0.5)])["interval"] == 1


def test_an_undefined_affected_ra_excludes_no_trial_by_the_rule_interval():
    assert choose_by_rule([trial(0.5, ra_affected=nan, n=0), trial(0.6)])["interval"] == 0


def test_where_nobody_says_how_many_they_are_the_bare_bound_holds():
    assert choose_by_rule([trial(0.2, ra_affected=0.6, n=nan), trial(0.5)])["interval"] == 1


# Which rule chooses


def test_each_rule_chooses_its_own_trial():
    few = trial(0.1, ra_affected=0.6, teacher_ua=0.5, n=25)
    trials = [few, trial(0.2, teacher_ua=0.5), trial(0.45, teacher_ua=0.5)]
    expected = {"paper": 1, "interval": 0, "teacher": 2}
    assert choose_by_rule(trials) == expected
    assert {rule: choose(trials, rule) for rule in RULES} == expected


def test_without_a_teacher_the_papers_rule_chooses():
    trials = [trial(0.5), trial(0.2)]
    assert choose_by_rule(trials)["teacher"] is None
    assert choose(trials, "teacher") == 1

"""Selection of a tuning trial without using Retrain: the paper's rule and two alternatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING

from scipy.special import betaincinv

if TYPE_CHECKING:
    from collateral.contract.conventions import Rule

MIN_RA_AFFECTED = 0.7  # paper, appendix B.2
MIN_RA = 0.9  # paper, appendix B.2
CONFIDENCE = 0.95  # confidence level of the one-sided interval

Trial = Mapping[str, float]


def choose(trials: Sequence[Trial], rule: Rule) -> int:
    """Return the index of the trial that `rule` selects; if none, use the paper's rule."""
    chosen = choose_by_rule(trials)
    index = chosen["paper"] if chosen[rule] is None else chosen[rule]
    assert index is not None
    return index


def choose_by_rule(trials: Sequence[Trial]) -> dict[Rule, int | None]:
    """Return the index of the trial that each rule selects; the rule `teacher` may select none."""
    return {
        "paper": select(trials),
        "interval": select(trials, _may_be_admissible),
        "teacher": select_by_teacher(trials),
    }


def count_admissible(trials: Sequence[Trial]) -> dict[Rule, int]:
    """Return the number of trials that are accurate enough for each rule."""
    by_paper, by_interval = (
        sum(map(is_admissible, trials)) for is_admissible in (_is_admissible, _may_be_admissible)
    )
    return {"paper": by_paper, "interval": by_interval, "teacher": by_paper}


def select(trials: Sequence[Trial], is_admissible: Callable[[Trial], bool] | None = None) -> int:
    """Select the admissible trial with the lowest UA or, if none is admissible, the highest RA.

    By default, trials with affected RA > 70 % and RA > 90 % are admissible. An undefined affected
    RA (no retained example of the affected classes) is no obstacle. The first of equal trials is
    selected. A diverged trial has an undefined RA and is selected only if all diverged.
    """
    is_admissible = is_admissible or _is_admissible
    admissible = [index for index, trial in enumerate(trials) if is_admissible(trial)]
    if admissible:
        return min(admissible, key=lambda index: trials[index]["ua"])
    return max(range(len(trials)), key=lambda index: _or_worst(trials[index]["ra"]))


def select_by_teacher(trials: Sequence[Trial]) -> int | None:
    """Return the index of the trial with UA nearest to its teacher's UA; None without teachers.

    Trials that are not admissible are considered only if no trial with a teacher is admissible.
    """
    # The difference is NaN without a teacher, and for a trial that diverged.
    taught = [i for i, trial in enumerate(trials) if not isnan(trial["ua"] - trial["teacher_ua"])]
    taught = [i for i in taught if _is_admissible(trials[i])] or taught
    if not taught:
        return None
    return min(taught, key=lambda i: abs(trials[i]["ua"] - trials[i]["teacher_ua"]))


def upper_limit(rate: float, count: float) -> float:
    """Return the one-sided Clopper-Pearson upper limit of a rate among `count` examples."""
    successes = round(rate * count)
    if successes >= count:
        return 1.0
    return float(betaincinv(successes + 1, count - successes, CONFIDENCE))


def _is_admissible(trial: Trial) -> bool:
    # An undefined (NaN) RA of affected classes passes; an undefined RA does not.
    return not trial["ra_affected"] <= MIN_RA_AFFECTED and trial["ra"] > MIN_RA


def _may_be_admissible(trial: Trial) -> bool:
    """Tell whether a trial would be admissible if its affected RA were at its upper limit."""
    if isnan(trial["ra_affected"] + trial["num_affected"]):
        return _is_admissible(trial)
    limit = upper_limit(trial["ra_affected"], trial["num_affected"])
    return _is_admissible({**trial, "ra_affected": limit})


def _or_worst(value: float) -> float:
    return -1.0 if isnan(value) else value

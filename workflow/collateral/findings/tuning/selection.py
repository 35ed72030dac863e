"""Choose among trials without looking at Retrain: the paper's rule, and two others beside it."""

from collections.abc import Callable, Mapping, Sequence
from math import isnan

from scipy.special import betaincinv

from collateral.contract.selection import PAPER, Rule

MIN_RA_AFFECTED = 0.7  # paper, appendix B.2
MIN_RA = 0.9
CONFIDENCE = 0.95  # confidence level of the one-sided interval

Trial = Mapping[str, float]


def choose(trials: Sequence[Trial], rule: Rule) -> int:
    """Return the index of the trial that a rule chooses; the paper's, where it cannot tell."""
    chosen = choices(trials)
    index = chosen[PAPER] if chosen[rule] is None else chosen[rule]
    assert index is not None
    return index


def choices(trials: Sequence[Trial]) -> dict[Rule, int | None]:
    """Return what every rule chooses; None where it lacks a teacher."""
    return {
        "paper": select(trials),
        "interval": select(trials, _may_be_good),
        "teacher": select_by_teacher(trials),
    }


def admissible(trials: Sequence[Trial]) -> dict[Rule, int]:
    """Return how many trials are good enough for each rule; with none it takes the least bad."""
    by_paper, by_interval = (sum(map(is_good, trials)) for is_good in (_is_good, _may_be_good))
    return {"paper": by_paper, "interval": by_interval, "teacher": by_paper}


def select(trials: Sequence[Trial], is_good: Callable[[Trial], bool] | None = None) -> int:
    """Return the index of the chosen trial, the first of equals.

    Among the trials with affected RA > 70 % and RA > 90 %: the lowest UA; if there is none, the
    highest RA. Where no example of the affected classes is retained, affected RA is undefined and
    asks for nothing. A trial that diverged has an undefined RA and is chosen only if all have.
    """
    good = [index for index, trial in enumerate(trials) if (is_good or _is_good)(trial)]
    if good:
        return min(good, key=lambda index: trials[index]["ua"])
    return max(range(len(trials)), key=lambda index: _or_worst(trials[index]["ra"]))


def select_by_teacher(trials: Sequence[Trial]) -> int | None:
    """Return the trial whose UA is nearest to its teacher's accuracy on the forget set, if any."""
    # Undefined without a teacher, and for a trial that diverged.
    taught = [i for i, trial in enumerate(trials) if not isnan(trial["ua"] - trial["teacher_ua"])]
    taught = [i for i in taught if _is_good(trials[i])] or taught
    if not taught:
        return None
    return min(taught, key=lambda i: abs(trials[i]["ua"] - trials[i]["teacher_ua"]))


def upper_end(rate: float, count: float) -> float:
    """Return where the one-sided Clopper-Pearson interval of a rate among `count` ends."""
    right = round(rate * count)
    return 1.0 if right >= count else float(betaincinv(right + 1, count - right, CONFIDENCE))


def _is_good(trial: Trial) -> bool:
    # NaN compares as false: an undefined affected RA passes, an undefined RA does not.
    return not trial["ra_affected"] <= MIN_RA_AFFECTED and trial["ra"] > MIN_RA


def _may_be_good(trial: Trial) -> bool:
    """Tell whether a trial may have the affected RA that is asked for, by so few examples."""
    if isnan(trial["ra_affected"] + trial["num_affected"]):
        return _is_good(trial)
    end = upper_end(trial["ra_affected"], trial["num_affected"])
    return _is_good({**trial, "ra_affected": end})


def _or_worst(value: float) -> float:
    return -1.0 if isnan(value) else value

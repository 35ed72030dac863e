"""Choose among trials without looking at Retrain, by the paper's rule and by its alternative."""

from collections.abc import Mapping, Sequence
from math import isnan

MIN_RA_AFFECTED = 0.7  # paper, appendix B.2
MIN_RA = 0.9

Trial = Mapping[str, float]


def select(trials: Sequence[Trial]) -> int:
    """Return the index of the chosen trial, the first of equals.

    Among the trials with affected RA > 70 % and RA > 90 %: the lowest UA; if there is none, the
    highest RA. Where no example of the affected classes is retained, affected RA is undefined and
    asks for nothing. A trial that diverged has an undefined RA and is chosen only if all have.
    """
    good = [index for index, trial in enumerate(trials) if _is_good(trial)]
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


def _is_good(trial: Trial) -> bool:
    # NaN compares as false: an undefined affected RA passes, an undefined RA does not.
    return not trial["ra_affected"] <= MIN_RA_AFFECTED and trial["ra"] > MIN_RA


def _or_worst(value: float) -> float:
    return -1.0 if isnan(value) else value

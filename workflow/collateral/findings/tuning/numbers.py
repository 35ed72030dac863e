"""Regret of tuning: for every tuned method, and for each selection rule.

Regret is the gap to Retrain of the chosen trial minus that of the trial nearest to Retrain.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from collateral.contract.conventions import TEACHER
from collateral.contract.rows import Row
from collateral.findings.gap import TERMS
from collateral.findings.inputs import CellResults
from collateral.metrics.selection import choose_by_rule, count_admissible
from collateral.metrics.statistics import mean_of_defined
from collateral.results.layout import is_sweep

TrialRow = Mapping[str, str]  # one row of trials.csv
COMPARED = TERMS["avg_gap"]
TEACHER_UA = "teacher_ua"
# Columns of trials.csv that selection rules use; they also use the teacher's UA.
RULE_FIELDS = ("ua", "ra", "ra_affected", "num_affected")


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield, for each tuned method, the regret of its choice and of each selection rule's choice.

    Also yield the gaps to Retrain of the chosen trial, the default trial and the nearest trial.
    """
    retrained = {name: float(cell.values(cell.reference, name)[0]) for name in COMPARED}
    teacher_ua = find_teacher_ua(cell)
    for method in cell.tuned:
        trials = cell.trials(method)
        for metric, value in regret(trials, retrained).items():
            yield Row(method, metric, value, cell.seeds[0])
        for rule, values in regret_by_rule(trials, retrained, teacher_ua).items():
            for metric, value in values.items():
                yield Row(method, metric, value, cell.seeds[0], at=rule)


def find_teacher_ua(cell: CellResults) -> float:
    """Return the UA of LTD's teacher in the first seed.

    If LTD reports none, it is the UA of another run's teacher; NaN if no run has a teacher.
    """
    runs = [result for result in cell.results() if result.seed == cell.seeds[0]]
    reported = {result.run: result.record.get("extra", {}) for result in runs}
    known = {
        run: extra[TEACHER_UA]
        for run, extra in reported.items()
        if TEACHER_UA in extra and not is_sweep(run)
    }
    return float(known.get(TEACHER, next(iter(known.values()), math.nan)))


def regret(trials: Sequence[TrialRow], retrained: Mapping[str, float]) -> dict[str, float]:
    """Return the regret of the chosen trial, and the gaps to Retrain of three trials.

    These are the chosen trial, the default trial and the trial nearest to Retrain. `retrained` has
    Retrain's metrics by name.
    """
    gaps = [trial_gap(trial, retrained) for trial in trials]
    candidates = [i for i, trial in enumerate(trials) if _is_candidate(trial)]
    chosen = next(i for i, trial in enumerate(trials) if trial["is_chosen"] == "True")
    defaults = [gaps[i] for i, trial in enumerate(trials) if trial["is_default"] == "True"]
    nearest = min(candidates, key=lambda i: math.inf if math.isnan(gaps[i]) else gaps[i])
    return {
        "gap_chosen": gaps[chosen],
        "gap_default": defaults[0] if defaults else math.nan,
        "gap_nearest": gaps[nearest],
        "regret": gaps[chosen] - gaps[nearest],
        "trial_chosen": float(chosen),
        "trial_nearest": float(nearest),
    }


def regret_by_rule(
    trials: Sequence[TrialRow], retrained: Mapping[str, float], teacher_ua: float
) -> dict[str, dict[str, float]]:
    """Return regret, index of the chosen trial and number of admissible trials, by selection rule.

    `teacher_ua` is used for trials that have no teacher's UA of their own. If a rule cannot choose
    a trial, its regret and index are NaN.
    """
    gaps = {
        i: trial_gap(trial, retrained) for i, trial in enumerate(trials) if _is_candidate(trial)
    }
    nearest = min((gap for gap in gaps.values() if not math.isnan(gap)), default=math.nan)
    candidates = [_read_trial(trials[i], teacher_ua) for i in gaps]
    chosen, admissible = choose_by_rule(candidates), count_admissible(candidates)
    places = {rule: [*gaps][index] for rule, index in chosen.items() if index is not None}
    return {
        rule: {
            "rule_regret": gaps[places[rule]] - nearest if rule in places else math.nan,
            "rule_trial": float(places.get(rule, math.nan)),
            "rule_admissible": float(admissible[rule]),
        }
        for rule in chosen
    }


def _is_candidate(trial: TrialRow) -> bool:
    return trial["is_candidate"] == "True"


def _read_trial(trial: TrialRow, teacher_ua: float) -> dict[str, float]:
    """Return, as floats, those columns of a trial that selection rules use."""
    # Trials that an older version cached have no column `num_affected`.
    fields = {name: float(trial.get(name) or math.nan) for name in RULE_FIELDS}
    return {**fields, TEACHER_UA: float(trial[TEACHER_UA] or teacher_ua)}


def trial_gap(trial: TrialRow, retrained: Mapping[str, float]) -> float:
    """Return the average gap of one trial to Retrain; NaN for a trial that diverged."""
    return mean_of_defined(
        abs(float(trial[name]) - retrained[name]) if trial[name] else math.nan for name in COMPARED
    )

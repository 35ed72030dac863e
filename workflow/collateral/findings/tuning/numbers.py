"""The regret of every tuned method's choice, and of what each rule would have chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from collateral.contract.rows import Row
from collateral.contract.selection import TEACHER
from collateral.findings._shared.statistics import mean_of_defined
from collateral.findings.gap import TERMS
from collateral.findings.tuning.selection import admissible, choices
from collateral.results.layout import RETRAIN

if TYPE_CHECKING:
    from collateral.results.cell import CellResults

TrialRow = Mapping[str, str]  # a row of trials.csv
COMPARED = TERMS["avg_gap"]
UA = "teacher_ua"
READ = ("ua", "ra", "ra_affected", "num_affected")  # by rules, besides the teacher's UA


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the gaps of the chosen, the default and the nearest trial, and which these are."""
    first = {name: float(cell.values(RETRAIN, name)[0]) for name in COMPARED}
    teacher_ua = local_teacher(cell)
    for method in cell.tuned:
        trials = cell.trials(method)
        for metric, value in regret(trials, first).items():
            yield Row(method, metric, value, cell.seeds[0])
        for rule, found in regret_by_rule(trials, first, teacher_ua).items():
            for metric, value in found.items():
                yield Row(method, metric, value, cell.seeds[0], at=rule)


def local_teacher(cell: CellResults) -> float:
    """Return the UA of LTD's teacher on the first seed; NaN where no run has one."""
    runs = [result for result in cell.results() if result.seed == cell.seeds[0]]
    said = {result.run: result.record.get("extra", {}) for result in runs}
    known = {run: extra[UA] for run, extra in said.items() if UA in extra and "@" not in run}
    return float(known.get(TEACHER, next(iter(known.values()), math.nan)))


def regret(trials: Sequence[TrialRow], retrained: Mapping[str, float]) -> dict[str, float]:
    """Compare the trials of one method with Retrain's UA, RA, TA and MIA of the same seed."""
    gaps = [trial_gap(trial, retrained) for trial in trials]
    candidates = [i for i, trial in enumerate(trials) if _may_win(trial)]
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
    """Return what each rule chooses among the candidates, and its regret; NaN if it cannot tell.

    Also how many of them it admits. `teacher_ua` stands in for that of trials that have none.
    """
    gaps = {i: trial_gap(trial, retrained) for i, trial in enumerate(trials) if _may_win(trial)}
    nearest = min((gap for gap in gaps.values() if not math.isnan(gap)), default=math.nan)
    read = [_as_numbers(trials[i], teacher_ua) for i in gaps]
    chosen, admitted = choices(read), admissible(read)
    places = {rule: [*gaps][index] for rule, index in chosen.items() if index is not None}
    return {
        rule: {
            "rule_regret": gaps[places[rule]] - nearest if rule in places else math.nan,
            "rule_trial": float(places.get(rule, math.nan)),
            "rule_admissible": float(admitted[rule]),
        }
        for rule in chosen
    }


def _may_win(trial: TrialRow) -> bool:
    return trial["is_candidate"] == "True"


def _as_numbers(trial: TrialRow, teacher_ua: float) -> dict[str, float]:
    """Return what rules read of a trial."""
    # Trials of an older cache do not say how many examples their affected RA is of.
    read = {name: float(trial.get(name) or math.nan) for name in READ}
    return {**read, UA: float(trial[UA] or teacher_ua)}


def trial_gap(trial: TrialRow, retrained: Mapping[str, float]) -> float:
    """Return the average gap of one trial; NaN for one that diverged."""
    return mean_of_defined(
        abs(float(trial[name]) - retrained[name]) if trial[name] else math.nan for name in COMPARED
    )

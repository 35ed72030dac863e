"""The regret of every tuned method's choice."""

import math
from collections.abc import Iterator, Mapping, Sequence

from collateral.contract.protocols import CellResults
from collateral.contract.rows import Row
from collateral.findings._shared.statistics import mean_of_defined
from collateral.findings.gap import TERMS
from collateral.results.layout import RETRAIN

TrialRow = Mapping[str, str]  # a row of trials.csv
COMPARED = TERMS["avg_gap"]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the gaps of the chosen, the default and the nearest trial, and which these are."""
    first = {name: float(cell.values(RETRAIN, name)[0]) for name in COMPARED}
    for method in cell.tuned:
        for metric, value in regret(cell.trials(method), first).items():
            yield Row(method, metric, value, cell.seeds[0])


def regret(trials: Sequence[TrialRow], retrained: Mapping[str, float]) -> dict[str, float]:
    """Compare the trials of one method with Retrain's UA, RA, TA and MIA of the same seed."""
    gaps = [trial_gap(trial, retrained) for trial in trials]
    candidates = [i for i, trial in enumerate(trials) if trial["is_candidate"] == "True"]
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


def trial_gap(trial: TrialRow, retrained: Mapping[str, float]) -> float:
    """Return the average gap of one trial; NaN for one that diverged."""
    return mean_of_defined(
        abs(float(trial[name]) - retrained[name]) if trial[name] else math.nan for name in COMPARED
    )

"""What choosing without Retrain cost: the chosen trial against the one nearest to Retrain.

Computed after the fact, from the trials of the tuning job, on the first seed alone. A trial's gap
is the mean absolute deviation from that seed's Retrain over UA, RA, TA and MIA.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collateral.metrics.gaps import TERMS, mean_of_defined

Trial = Mapping[str, str]  # a row of trials.csv


@dataclass(frozen=True)
class Regret:
    """Gaps of the chosen trial, of the defaults and of the nearest candidate; and which it was."""

    gap_chosen: float
    gap_default: float
    gap_nearest: float
    chosen: Trial
    nearest: Trial

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers by their names in the long table."""
        return {
            "gap_chosen": self.gap_chosen,
            "gap_default": self.gap_default,
            "gap_nearest": self.gap_nearest,
            "regret": self.gap_chosen - self.gap_nearest,
        }


def regret(trials: Sequence[Trial], retrained: Mapping[str, float]) -> Regret:
    """Compare the trials of one method with Retrain's UA, RA, TA and MIA of the same seed."""
    gaps = [trial_gap(trial, retrained) for trial in trials]
    candidates = [i for i, trial in enumerate(trials) if trial["is_candidate"] == "True"]
    chosen = next(i for i, trial in enumerate(trials) if trial["is_chosen"] == "True")
    defaults = [gaps[i] for i, trial in enumerate(trials) if trial["is_default"] == "True"]
    nearest = min(candidates, key=lambda i: math.inf if math.isnan(gaps[i]) else gaps[i])
    gap_default = defaults[0] if defaults else math.nan
    return Regret(gaps[chosen], gap_default, gaps[nearest], trials[chosen], trials[nearest])


def trial_gap(trial: Trial, retrained: Mapping[str, float]) -> float:
    """Return the average gap of one trial; NaN for one that diverged."""
    return mean_of_defined(
        abs(float(trial[name]) - retrained[name]) if trial[name] else math.nan
        for name in TERMS["avg_gap"]
    )

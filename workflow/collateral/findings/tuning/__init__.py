"""What did choosing without Retrain cost: the chosen trial against the one nearest to Retrain?

Computed after the fact, from the trials of the tuning job, on the first seed alone. A trial's gap
is the mean absolute deviation from that seed's Retrain over UA, RA, TA and MIA. Every rule of
selection is held against the same trials, whichever of them chose.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("accuracy", "membership")
PLACE = "details"
ORDER = 20
METRICS = {
    "gap_chosen": Metric("Gap", "gap of the chosen trial", "points", "low"),
    "gap_default": Metric("Gap of the defaults", "gap of the method's defaults", "points", "low"),
    "gap_nearest": Metric("Its gap", "gap of the candidate nearest to Retrain", "points", "low"),
    "regret": Metric("Regret", "what the choice has more than the nearest", "points", "low"),
    "rule_regret": Metric(
        "Regret of a rule", "regret of what a rule of selection chooses", "points", "low"
    ),
    "rule_trial": Metric("Chosen by a rule", "number of the trial that a rule chooses", ""),
    "rule_admissible": Metric(
        "Admissible by a rule", "candidates that keep enough accuracy for a rule to choose them", ""
    ),
    "trial_chosen": Metric("Chosen", "number of the chosen trial", ""),
    "trial_nearest": Metric("Nearest", "number of the candidate nearest to Retrain", ""),
}

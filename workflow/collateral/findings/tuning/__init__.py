"""What is lost by tuning without Retrain: how far is the selected trial from the best trial?

Computed after tuning from its trials, on the first seed alone. The gap of a trial is the mean
absolute deviation from that seed's Retrain over UA, RA, TA and MIA. All selection rules are
evaluated on the same trials, whichever rule the config uses.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("accuracy", "membership")
TITLE = "What did tuning without Retrain cost?"
PLACE = "runs"
ANSWER = ("regret", "")  # metric and subset that the finding's answer reports
ORDER = 20
METRICS = {
    "gap_chosen": Metric("Gap", "gap of the chosen trial", "points", "low"),
    "gap_default": Metric(
        "Gap of the defaults", "gap of the trial with the method's defaults", "points", "low"
    ),
    "gap_nearest": Metric("Its gap", "gap of the candidate nearest to Retrain", "points", "low"),
    "regret": Metric(
        "Regret", "gap of the chosen trial minus that of the nearest candidate", "points", "low"
    ),
    "rule_regret": Metric(
        "Regret of a rule", "regret of the trial that a selection rule chooses", "points", "low"
    ),
    "rule_trial": Metric("Chosen by a rule", "number of the trial that a rule chooses", ""),
    "rule_admissible": Metric(
        "Admissible by a rule",
        "number of candidates that are accurate enough for a rule to choose",
        "",
    ),
    "trial_chosen": Metric("Chosen", "number of the chosen trial", ""),
    "trial_nearest": Metric("Nearest", "number of the candidate nearest to Retrain", ""),
}

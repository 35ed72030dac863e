"""How far are a run's means from Retrain's, and how far would another retraining's be?"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("accuracy", "membership")
ORDER = 20
TERMS = {
    "avg_gap": ("ua", "ra", "ta", "mia"),
    "avg_gap_affected": ("ra_affected", "ua_affected", "ta_affected"),
}
METRICS = {
    "avg_gap": Metric(
        "Avg. Gap",
        "mean absolute deviation of the means from Retrain's over UA, RA, TA and MIA",
        "points",
        "low",
    ),
    "avg_gap_affected": Metric(
        "Avg. Gap affected",
        "mean absolute deviation of the means from Retrain's over the affected-class RA, UA and TA",
        "points",
        "low",
    ),
    "floor": Metric(
        "Noise floor",
        "expected absolute deviation between the means of two independent sets of retrainings, of "
        "the metric that `at` names",
        "points",
    ),
}

"""How far are the metrics of a run from Retrain's, compared with another retraining?"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("accuracy", "membership")
TITLE = "How far is each run from Retrain?"
PLACE = "summary"
ANSWER = ("avg_gap", "")  # metric and subset that the finding's answer reports
ORDER = 20
TERMS = {
    "avg_gap": ("ua", "ra", "ta", "mia"),
    "avg_gap_affected": ("ra_affected", "ua_affected", "ta_affected"),
}
FORGETTING = ("ua", "mia")  # metrics that the forgetting error averages
_GAP = "mean absolute deviation of the means from Retrain's over"
METRICS = {
    "avg_gap": Metric("Avg. Gap", f"{_GAP} UA, RA, TA and MIA", "points", "low"),
    "avg_gap_affected": Metric(
        "Avg. Gap affected", f"{_GAP} the affected-class RA, UA and TA", "points", "low"
    ),
    "floor": Metric(
        "Noise floor",
        "expected absolute deviation between two groups of retrainings, of the metric `at`",
        "points",
    ),
}

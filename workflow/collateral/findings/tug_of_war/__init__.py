"""How close is a model to Retrain on the forget, retain and test set at the same time?

The tug of war of Zhao et al. (2024) is 1 for Retrain, and an error on one set cannot be made up for
by the other sets. Each seed is compared with Retrain of the same seed; Retrain itself, with Retrain
of the next seed.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("accuracy", "membership")
TITLE = "Tug of war: close on all sets?"
PLACE = "summary"
ANSWER = ("tow", "")  # metric and subset that the finding's answer reports
ORDER = 50
TERMS = {"tow": ("ua", "ra", "ta"), "tow_mia": ("mia", "ra", "ta")}
METRICS = {
    "tow": Metric(
        "ToW", "product of 1 − |difference from Retrain| over UA, RA and TA", "", "high", digits=3
    ),
    "tow_mia": Metric(
        "ToW-MIA",
        "product of 1 − |difference from Retrain| over MIA, RA and TA",
        "",
        "high",
        digits=3,
    ),
}

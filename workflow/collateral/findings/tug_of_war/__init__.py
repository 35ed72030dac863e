"""How near is a model to Retrain on the forget, retain and test set at once?

The tug of war of Zhao et al. (2024): 1 is Retrain, and one set that is lost cannot be made up for
by the others. Seed i against seed i; Retrain's own numbers are against Retrain of the next seed.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("accuracy", "membership")
PLACE = "details"
ORDER = 7
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

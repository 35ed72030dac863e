"""What can be said without Retrain: what was forgotten, and what was lost against the base?

No verdict: whether a model is like one that never saw the forgotten examples, only Retrain tells.
"""

from collateral.contract.metrics import Metric

NEEDS = "original"  # as the reference
AFTER = ("accuracy", "membership", "locality", "reported")
PLACE = "top"
ORDER = 5
METRICS = {
    "rf_js": Metric(
        "RF-JS",
        "Jensen-Shannon divergence (LoTUS) of the mean prediction for the forgotten examples of a "
        "class from the base's for its test examples, mean over the affected classes",
        "nats",
        "low",
        digits=3,
    ),
    "estimated_ua": Metric(
        "Estimated UA",
        "accuracy on the forget set of a local teacher, which never saw it: an estimate of "
        "Retrain's UA",
        "%",
    ),
}

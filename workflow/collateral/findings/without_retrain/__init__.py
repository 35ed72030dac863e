"""Without Retrain: what was forgotten and lost, compared with the base model?

There is no verdict, because only Retrain shows how a model without the forgotten examples behaves.
"""

from collateral.contract.metrics import Metric

NEEDS = "original"  # this finding is only for benchmarks whose reference is the base model
AFTER = ("accuracy", "membership", "locality", "reported")
TITLE = "What was forgotten, and what lost?"
PLACE = "summary"
ORDER = 5
METRICS = {
    "rf_js": Metric(
        "RF-JS",
        "Jensen-Shannon divergence (LoTUS) of the mean prediction for the forgotten examples of a "
        "class from the base model's for its test examples, mean over the affected classes",
        "nats",
        "low",
        digits=3,
    ),
    "estimated_ua": Metric(
        "Estimated UA",
        "accuracy on the forget set of a local teacher that was not trained on it: an estimate of "
        "Retrain's UA",
        "%",
    ),
}

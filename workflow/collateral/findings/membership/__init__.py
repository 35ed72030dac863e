"""Does the forget set look like training data to somebody who attacks the model?

Each score is the share of the forget set that an attack calls non-members; it is read against
Retrain's score, not against 0 or 1.
"""

from collateral.contract.metrics import Metric

PLACE = "details"
ORDER = 5

def _attack(label: str, feature: str) -> Metric:
    text = f"share of the forget set that the membership attack on {feature} calls non-members"
    return Metric(label, text, "%", "retrain")


METRICS = {
    "mia": _attack("MIA", "the confidence in the true class"),
    "mia_correctness": _attack("MIA correctness", "whether the prediction is right"),
    "mia_entropy": _attack("MIA entropy", "the entropy of the prediction"),
    "mia_modified_entropy": _attack("MIA modified entropy", "the modified entropy"),
    "mia_probability": _attack(
        "MIA probability", "all class probabilities (learned from at most 2,000 of each side)"
    ),
}

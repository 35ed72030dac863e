"""Does the forget set look like training data to somebody who attacks the model?

Each score is the share of the forget set that an attack calls non-members; it is read against
Retrain's score, not against 0 or 1.
"""

from collateral.contract.metrics import Metric

PLACE = "details"
ORDER = 5

CONFIDENCE = "confidence"  # the attack that tables call MIA
FEATURES = {
    CONFIDENCE: "the confidence in the true class",
    "correctness": "whether the prediction is right",
    "entropy": "the entropy of the prediction",
    "modified_entropy": "the modified entropy",
    "probability": "all class probabilities (learned from at most 2,000 of each side)",
}


def metric_of(attack: str) -> str:
    """Return the name of an attack's score."""
    return "mia" if attack == CONFIDENCE else f"mia_{attack}"


def _metric(attack: str, feature: str) -> Metric:
    label = metric_of(attack).replace("mia", "MIA").replace("_", " ")
    text = f"share of the forget set that the membership attack on {feature} calls non-members"
    return Metric(label, text, "%", "retrain")


METRICS = {metric_of(attack): _metric(attack, feature) for attack, feature in FEATURES.items()}

"""Does the forget set look like training data to somebody who attacks the model?

Each score is the share of the forget set that an attack calls non-members; it is read against
Retrain's score, not against 0 or 1.
"""

from collateral.contract.metrics import Metric, epoch_metrics
from collateral.contract.rows import MIA, Attack, score_name

PLACE = "details"
ORDER = 5

LOOKS_AT: dict[Attack, str] = {
    "confidence": "the confidence in the true class",
    "correctness": "whether the prediction is right",
    "entropy": "the entropy of the prediction",
    "modified_entropy": "the modified entropy",
    "probability": "all class probabilities (learned from at most 2,000 of each side)",
}


def _metric(attack: Attack, feature: str) -> Metric:
    label = score_name(attack).replace("mia", "MIA").replace("_", " ")
    text = f"share of the forget set that the membership attack on {feature} calls non-members"
    return Metric(label, text, "%", "retrain")


SCORES = {score_name(attack): _metric(attack, feature) for attack, feature in LOOKS_AT.items()}
METRICS = SCORES | epoch_metrics({score_name(MIA): SCORES[score_name(MIA)]})

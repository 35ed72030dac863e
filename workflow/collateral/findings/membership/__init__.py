"""Can an attacker who sees the model recognise the forget set as training data?

Each score is the share of the forget set that an attack calls non-members; it is compared with
Retrain's score, not with 0 or 1.
"""

from collateral.contract.metrics import Metric, epoch_metrics
from collateral.contract.rows import MIA, Attack, score_name

TITLE = "Do forgotten examples look like members?"
PLACE = "attacks"
ANSWER = ("mia", "")  # metric and subset that the finding's answer reports
ORDER = 5

FEATURES: dict[Attack, str] = {
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


SCORES = {score_name(attack): _metric(attack, feature) for attack, feature in FEATURES.items()}
METRICS = SCORES | epoch_metrics({score_name(MIA): SCORES[score_name(MIA)]})

"""How far are a model's class probabilities from Retrain's, near the forget set and far from it?

Means over examples, seed i against seed i; Retrain's own numbers compare Retrain of the next seed
with it. Near and far are those of `locality`.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("locality",)
TITLE = "How far are predictions from Retrain's?"
PLACE = "neighbours"
ANSWER = ("js_divergence", "forget")  # metric and subset that the finding's answer reports
ORDER = 16
METRICS = {
    "js_divergence": Metric(
        "JS", "Jensen-Shannon divergence of a model's probabilities and Retrain's", "nats", "low"
    ),
    "kl_divergence": Metric(
        "KL", "Kullback-Leibler divergence of Retrain's probabilities from a model's", "nats", "low"
    ),
    "agreement": Metric("Agreement", "share of examples predicted as Retrain does", "%", "high"),
}

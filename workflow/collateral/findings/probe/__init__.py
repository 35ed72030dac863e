"""What is left in a model of what it should have forgotten, that its outputs do not show?

Where the config has `probe:`, finished models are used once more: fine-tuned on half of the forget
set, shown its images with noise, and held against an untrained net. Seed i against seed i;
Retrain's own gaps are Retrain of the next seed's.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
PLACE = "details"
ORDER = 9.5
METRICS = {
    "relearn_accuracy": Metric(
        "Relearned",
        "accuracy on half of the forget set after so many steps of fine-tuning on the other half",
        "%",
        "retrain",
    ),
    "relearn_gap": Metric(
        "Relearning gap",
        "the same minus Retrain's, mean over the steps: above zero, it knows more than Retrain "
        "after as many steps",
        "points",
    ),
    "relearn_even": Metric(
        "Even by step",
        "first step after which it is no lower than Retrain's; 0: it was not lower at first; one "
        "more than there are steps: after none",
        "",
        digits=1,
    ),
    "residual_accuracy": Metric(
        "Residual",
        "share of the forget set's images with noise that have their label",
        "%",
        "retrain",
    ),
    "residual_gap": Metric(
        "Residual gap", "the same minus Retrain's: above zero, more is left", "points"
    ),
    "zrf": Metric(
        "ZRF",
        "1 − mean Jensen-Shannon divergence, in nats, of a model's class probabilities on the "
        "forget set from an untrained net's; large is random, so read it against Retrain's",
        "",
        "retrain",
        digits=3,
    ),
}

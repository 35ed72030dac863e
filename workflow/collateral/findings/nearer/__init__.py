"""Are a model's outputs on the forget set nearer to Retrain's than to the base model's?

A two-sample test calls even another Retrain different. The relative question has an answer: the
squared maximum mean discrepancy (MMD) of the class probabilities from the base's, minus that from
Retrain's, on the same images. Retrain's own number is that of Retrain of the next seed, which must
be above zero; if it is not, there is nothing to tell apart. It needs the control `original`.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
TITLE = "Nearer to Retrain than to the base?"
PLACE = "attacks"
ORDER = 6.5
_D = "MMD² of the outputs on the forget set from the base's, minus that from Retrain's"
METRICS = {
    "nearer": Metric(
        "Nearer to Retrain", f"{_D}; above zero, they are nearer to Retrain's", "", "high", digits=3
    ),
    "nearer_low": Metric("Nearer from", f"lower end of the 95 % interval: {_D}", "", digits=3),
    "nearer_high": Metric("Nearer to", f"upper end of the 95 % interval: {_D}", "", digits=3),
    "nearer_bandwidth": Metric(
        "Bandwidth", "bandwidth of the Gaussian kernel on class probabilities", "", digits=3
    ),
    "nearer_examples": Metric(
        "Compared examples", "forgotten examples whose outputs are compared", "examples"
    ),
}

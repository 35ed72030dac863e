"""Are a model's outputs on the forget set nearer to Retrain's than to the base model's?

A two-sample test calls even another Retrain different. The relative question has an answer: the
squared maximum mean discrepancy (MMD) of the class probabilities from the base's, minus that from
Retrain's, on the same images. Retrain's own number is that of Retrain of the next seed, which must
be above zero; if it is not, there is nothing to tell apart. It needs the control `original`.
"""

from collateral.contract.metrics import Metric, with_intervals

NEEDS = "retrain"
TITLE = "Nearer to Retrain than to the base?"
PLACE = "attacks"
ORDER = 6.5
_NEARER = Metric(
    "Nearer to Retrain",
    "MMD² of the outputs on the forget set from the base's, minus that from Retrain's",
    "",
    "high",
    digits=3,
)
METRICS = {
    **with_intervals({"nearer": _NEARER}),
    "nearer_bandwidth": Metric(
        "Bandwidth", "bandwidth of the Gaussian kernel on class probabilities", "", digits=3
    ),
    "nearer_examples": Metric(
        "Compared examples", "forgotten examples whose outputs are compared", "examples"
    ),
}

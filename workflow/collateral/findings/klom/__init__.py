"""Are the laws of an example's margin over seeds the same for unlearned and retrained models?

KLOM (Georgiev et al., 2024): Kullback-Leibler divergence of the margins' law over unlearned models
from that over retrained ones, mean over examples. Both are taken as Gaussian, and what Retrain
against Retrain gives at the same number of seeds is subtracted: with a handful of seeds that is
most of it.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("locality",)
PLACE = "details"
ORDER = 9
_LAWS = "divergence of the law of margins over seeds from Retrain's"
METRICS = {
    "klom": Metric(
        "KLOM", f"{_LAWS}, less Retrain's own at as many seeds", "nats", "low", digits=2
    ),
    "klom_retrain": Metric(
        "KLOM of Retrain", f"{_LAWS} of other seeds, by chance alone", "nats", digits=2
    ),
}

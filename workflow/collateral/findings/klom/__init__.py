"""Do an example's margins vary over seeds as much as Retrain's? (KLOM)

KLOM (Georgiev et al., 2024) is the Kullback-Leibler divergence of an example's margins over
unlearned models from those over retrained models, averaged over examples. Both distributions are
taken as Gaussian. KLOM of Retrain against Retrain with as many seeds is subtracted, because with a
few seeds most of KLOM is chance.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("locality",)
TITLE = "Do margins vary as Retrain's do?"
PLACE = "attacks"
ANSWER = ("klom", "forget")  # metric and subset that the finding's answer reports
ORDER = 9
_KL = "KL divergence of the distribution of margins over seeds from Retrain's"
METRICS = {
    "klom": Metric(
        "KLOM", f"{_KL}, minus that of Retrain with as many seeds", "nats", "low", digits=2
    ),
    "klom_retrain": Metric(
        "KLOM of Retrain", f"{_KL} in other seeds: the part that is chance", "nats", digits=2
    ),
}

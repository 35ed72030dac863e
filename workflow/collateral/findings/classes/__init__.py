"""Which other classes lose accuracy if whole classes are deleted: the similar ones?"""

from collateral.contract.metrics import Metric, with_intervals

NEEDS = "retrain"
TITLE = "Which other classes lose?"
PLACE = "neighbours"
ORDER = 30


_SLOPE = Metric(
    "Class slope",
    "slope of a line through the drops of a seed's remaining classes over their similarity, mean "
    "over seeds",
    "points per 0.1",
    "retrain",
)
METRICS = {
    "class_similarity": Metric(
        "Class similarity",
        "cosine of the base's mean features of a class with the most similar deleted class's",
        "cosine",
        digits=3,
    ),
    "class_drop": Metric(
        "Class drop", "loss of accuracy against Retrain on a class's test set", "points", "retrain"
    ),
    "class_drop_sd": Metric(
        "Noise of the class drop",
        "standard deviation of the mean class drop between independent retrainings",
        "points",
    ),
    **with_intervals({"class_slope": _SLOPE}),
}

"""Which other classes lose accuracy if whole classes are deleted: the similar ones?"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
TITLE = "Which other classes lose?"
PLACE = "neighbours"
ORDER = 30


def _end_of_slope(label: str, end: str) -> Metric:
    text = f"{end} end of the slope's 95 % Student-t interval over seeds"
    return Metric(label, text, "points per 0.1", "retrain")


METRICS = {
    "class_similarity": Metric(
        "Class similarity",
        "cosine of the base's mean features of a class with those of the deleted class, of several "
        "with the most similar",
        "cosine",
        digits=3,
    ),
    "class_drop": Metric(
        "Class drop",
        "Retrain's accuracy minus the unlearned model's on the test examples of a class",
        "points",
        "retrain",
    ),
    "class_drop_sd": Metric(
        "Noise of the class drop",
        "standard deviation of the mean class drop between independent retrainings",
        "points",
    ),
    "class_slope": Metric(
        "Class slope",
        "slope of the class drop over the class similarity, of the classes not deleted: a line "
        "through each seed's classes, mean over seeds",
        "points per 0.1",
        "retrain",
    ),
    "class_slope_low": _end_of_slope("Class slope from", "lower"),
    "class_slope_high": _end_of_slope("Class slope to", "upper"),
}

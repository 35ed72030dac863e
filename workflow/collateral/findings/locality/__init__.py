"""Do examples near the forget set lose more accuracy than far examples?

Near are the examples most similar to the forget set, in the mean over seeds, as many as the
affected classes have among the retained or the test examples, but at least 10 and at most a quarter
of them. They are the same in all seeds.
"""

from collateral.contract.metrics import Metric, epoch_metrics

TITLE = "Do neighbours lose more?"
PLACE = "neighbours"
ORDER = 10
_SD = "standard deviation, between independent retrainings, of the mean"
_ACC = "{reference}'s accuracy minus the unlearned model's"
_LOSSES = {
    "near_loss": Metric("Near", f"{_ACC} on the most similar examples", "points", "retrain"),
    "far_loss": Metric("Far", f"{_ACC} on all other examples", "points", "retrain"),
}
METRICS = {
    **_LOSSES,
    **epoch_metrics(_LOSSES),
    "bin_low": Metric("Bin from", "least similarity of a bin", "cosine"),
    "bin_high": Metric("Bin to", "largest similarity of a bin", "cosine"),
    "bin_count": Metric("Bin size", "examples in a bin", "examples"),
    "delta_acc": Metric("Δacc", f"{_ACC} in a bin", "points", "retrain"),
    "delta_conf": Metric(
        "Δconf",
        "{reference}'s mean true-class confidence minus the unlearned model's in a bin",
        "points",
        "retrain",
    ),
    "delta_acc_sd": Metric("Noise of Δacc", f"{_SD} Δacc of a bin", "points"),
    "delta_conf_sd": Metric("Noise of Δconf", f"{_SD} Δconf of a bin", "points"),
    "near_loss_sd": Metric("Noise of near", f"{_SD} loss on the most similar examples", "points"),
    "far_loss_sd": Metric("Noise of far", f"{_SD} loss on all other examples", "points"),
    "damage_sd": Metric(
        "Noise of damage", f"{_SD} loss on the most similar examples minus that on others", "points"
    ),
    "near_accuracy": Metric("Near accuracy", "accuracy on the most similar examples", "%"),
    "far_accuracy": Metric("Far accuracy", "accuracy on all other examples", "%"),
    "near_count": Metric("Near ones", "most similar examples", "examples"),
    "far_count": Metric("Far ones", "all other examples", "examples"),
    "near_class": Metric("Near by class", "most similar examples of the class `at`", "examples"),
    "disagreement": Metric(
        "Disagreement", "share of a set predicted otherwise than by {reference}", "%", "low"
    ),
}

"""Who gets hurt, and by whom: which class loses accuracy when which other class is forgotten?

The config key `atlas` makes one cell per class (or group). The forgotten class is the emitter, the
class whose test images are looked at the receiver.
"""

from collateral.contract.metrics import Metric, with_intervals

NEEDS = "retrain"
TITLE = "Who hurts whom?"
PLACE = "neighbours"
ORDER = 25
MEASURES = {"": "accuracy", "confidence": "confidence"}  # by the ending of `at`: what is compared

METRICS = {
    "atlas_accuracy": Metric(
        "Accuracy by receiver",
        "accuracy on the test images of one class or group, in a cell of the atlas",
        "%",
        "retrain",
    ),
    "atlas_confidence": Metric(
        "Confidence by receiver",
        "mean probability of the true class on the test images of one class or group, in a cell of "
        "the atlas",
        "%",
        "retrain",
    ),
    "atlas_similarity": Metric(
        "Similarity of receiver",
        "similarity of a class or group to the forgotten one, in the base model",
        "cosine",
    ),
    "atlas_images": Metric(
        "Test images of receiver", "number of test images of one class or group", "examples"
    ),
    "atlas_loss": Metric(
        "Loss",
        "Retrain's value minus the run's on the test images of other classes, mean over all pairs",
        "points",
    ),
    "atlas_legitimate": Metric(
        "Legitimate loss",
        "the base's value minus Retrain's on the test images of other classes, mean over all pairs",
        "points",
    ),
    "atlas_pairs": Metric("Pairs", "number of pairs of a forgotten and another class", "cells"),
    "atlas_found": Metric(
        "Pairs that differ",
        "number of pairs whose loss against Retrain is shown to differ from zero (Welch's t with "
        "the mean variance as the least one; Benjamini and Hochberg, 5 % per matrix)",
        "cells",
    ),
    "atlas_floor": Metric(
        "Pairs found in the floor",
        "share of pairs found by the same test between one half of the Retrains and the other, "
        "mean over all halves",
        "%",
    ),
    **with_intervals(
        {
            "atlas_slope": Metric(
                "Slope over similarity",
                "change of the loss with similarity, beyond the habits of emitters and receivers",
                "points per 0.1",
            ),
            "atlas_asymmetry": Metric(
                "Asymmetry",
                "share of the damage beyond habits and noise that is not mutual: 0 where two "
                "classes hurt each other equally, 100 where one loses what the other gains",
                "%",
            ),
        }
    ),
    "atlas_correlation": Metric(
        "Partial correlation",
        "correlation of loss and similarity beyond the habits of emitters and receivers",
        "",
        digits=2,
    ),
    "atlas_p": Metric(
        "p of similarity",
        "p-value of no relation with similarity, by permuting the classes after subtracting habits "
        "(double semi-partialling), adjusted by Holm over methods",
        "",
        digits=4,
    ),
}

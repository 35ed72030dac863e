"""What every number is called, measured in, and best at; tables, figures and report read it here.

A rate or a difference of rates is kept in [0, 1] or [-1, 1]; `factor` takes it to its unit.
"""

from dataclasses import dataclass, replace
from typing import Literal

from collateral.core.record import TRACKED

Unit = Literal["%", "points", "s", "MB", "examples", "cosine", "nats", "epochs", "classes", "rate"]
Ideal = Literal["retrain", "high", "low"]
Group = Literal[
    "main",
    "affected",
    "membership",
    "locality",
    "support",
    "epochs",
    "reported",
    "reference",
    "cost",
]


@dataclass(frozen=True)
class Metric:
    """How a number is shown; `ideal` is None where it is neither good nor bad."""

    label: str
    description: str
    unit: Unit
    ideal: Ideal | None
    group: Group

    @property
    def factor(self) -> float:
        """What the stored number is multiplied by to be shown in `unit`."""
        return 100.0 if self.unit in ("%", "points") else 1.0


def _attack(label: str, feature: str, group: Group = "membership") -> Metric:
    text = f"share of the forget set that the membership attack on {feature} calls non-members"
    return Metric(label, text, "%", "retrain", group)


def _end_of_slope(label: str, end: str) -> Metric:
    text = f"{end} end of the slope's 95 % Student-t interval over seeds"
    return Metric(label, text, "points", "retrain", "locality")


METRICS: dict[str, Metric] = {
    "ua": Metric("UA", "accuracy on the forget set", "%", "retrain", "main"),
    "ra": Metric("RA", "accuracy on the retained examples", "%", "retrain", "main"),
    "ta": Metric("TA", "accuracy on the test set", "%", "retrain", "main"),
    "mia": _attack("MIA", "the confidence in the true class", "main"),
    "avg_gap": Metric(
        "Avg. Gap",
        "mean absolute deviation of the means from Retrain's over UA, RA, TA and MIA",
        "points",
        "low",
        "main",
    ),
    "ra_affected": Metric(
        "RA affected",
        "accuracy on the retained examples of the affected classes",
        "%",
        "retrain",
        "affected",
    ),
    "ua_affected": Metric(
        "UA affected",
        "accuracy on the forgotten examples of the affected classes",
        "%",
        "retrain",
        "affected",
    ),
    "ta_affected": Metric(
        "TA affected",
        "accuracy on the test examples of the affected classes",
        "%",
        "retrain",
        "affected",
    ),
    "avg_gap_affected": Metric(
        "Avg. Gap affected",
        "mean absolute deviation of the means from Retrain's over the affected-class RA, UA and TA",
        "points",
        "low",
        "affected",
    ),
    "mia_correctness": _attack("MIA correctness", "whether the prediction is right"),
    "mia_entropy": _attack("MIA entropy", "the entropy of the prediction"),
    "mia_modified_entropy": _attack("MIA modified entropy", "the modified entropy"),
    "mia_probability": _attack(
        "MIA probability", "all class probabilities (learned from at most 2,000 of each side)"
    ),
    "delta_acc": Metric(
        "Δacc",
        "Retrain's accuracy minus the unlearned model's in a bin of similarity",
        "points",
        "retrain",
        "locality",
    ),
    "delta_conf": Metric(
        "Δconf",
        "Retrain's mean true-class confidence minus the unlearned model's in a bin of similarity",
        "points",
        "retrain",
        "locality",
    ),
    "disagreement_retain": Metric(
        "Disagreement, retain",
        "share of the retained examples predicted otherwise than by Retrain",
        "%",
        "low",
        "locality",
    ),
    "disagreement_test": Metric(
        "Disagreement, test",
        "share of the test examples predicted otherwise than by Retrain",
        "%",
        "low",
        "locality",
    ),
    "disagreement_forget": Metric(
        "Disagreement, forget",
        "share of the forget set predicted otherwise than by Retrain",
        "%",
        "low",
        "locality",
    ),
    "class_drop": Metric(
        "Class drop",
        "Retrain's accuracy minus the unlearned model's on the test examples of a class",
        "points",
        "retrain",
        "locality",
    ),
    "class_slope": Metric(
        "Class slope",
        "slope of the class drop over the class similarity, of the classes not deleted: a line "
        "through each seed's classes, mean over seeds",
        "points",
        "retrain",
        "locality",
    ),
    "class_slope_low": _end_of_slope("Class slope from", "lower"),
    "class_slope_high": _end_of_slope("Class slope to", "upper"),
    "class_similarity": Metric(
        "Class similarity",
        "cosine of the base's mean features of a class with those of the deleted class, of several "
        "with the most similar",
        "cosine",
        None,
        "reference",
    ),
    "floor_class": Metric(
        "Noise of the class drop",
        "standard deviation of the mean class drop between independent retrainings",
        "points",
        None,
        "reference",
    ),
    "train_count": Metric(
        "Class size", "train examples of an affected class", "examples", None, "reference"
    ),
    "forget_count": Metric(
        "Forgotten", "forgotten examples of an affected class", "examples", None, "reference"
    ),
    "bin_low": Metric("Bin from", "least similarity of a bin", "cosine", None, "reference"),
    "bin_high": Metric("Bin to", "largest similarity of a bin", "cosine", None, "reference"),
    "bin_count": Metric("Bin size", "examples in a bin", "examples", None, "reference"),
    "floor_acc": Metric(
        "Noise of Δacc",
        "standard deviation of the mean Δacc of a bin between independent retrainings",
        "points",
        None,
        "reference",
    ),
    "floor_conf": Metric(
        "Noise of Δconf",
        "standard deviation of the mean Δconf of a bin between independent retrainings",
        "points",
        None,
        "reference",
    ),
    "floor": Metric(
        "Noise floor",
        "expected absolute deviation between the means of two independent sets of retrainings",
        "points",
        None,
        "reference",
    ),
    "support_kl_previous": Metric(
        "KL to the smaller support",
        "KL divergence of the teacher's histogram of the forget set from that of the next smaller "
        "support's teacher",
        "nats",
        None,
        "reference",
    ),
    "support_floor": Metric(
        "KL between seeds",
        "mean KL divergence between the histograms of two seeds' teachers of one support size",
        "nats",
        None,
        "reference",
    ),
    "support_teacher_ua": Metric(
        "Teacher on D_f",
        "the teacher's accuracy on the forget set",
        "%",
        "retrain",
        "support",
    ),
    "support_top_mass": Metric(
        "Mass kept",
        "share of the teacher's probabilities that the largest few classes hold",
        "%",
        None,
        "reference",
    ),
    "support_epochs": Metric(
        "Teacher epochs", "epochs of the teacher's training", "epochs", None, "reference"
    ),
    "support_accuracy": Metric(
        "Teacher on support",
        "the teacher's accuracy on its support over its last epoch, as trained",
        "%",
        None,
        "reference",
    ),
    "support_least_similarity": Metric(
        "Least similarity",
        "least similarity to the forget set in a support",
        "cosine",
        None,
        "reference",
    ),
    "support_num_classes": Metric("Classes", "classes in a support", "classes", None, "reference"),
    "support_drop": Metric(
        "Drop by one step",
        "accuracy that the retained examples of a bin lose by one step of gradient ascent",
        "points",
        None,
        "reference",
    ),
    "support_bin_low": Metric(
        "Step's bin from", "least similarity of a seed's own bin", "cosine", None, "reference"
    ),
    "support_bin_high": Metric(
        "Step's bin to", "largest similarity of a seed's own bin", "cosine", None, "reference"
    ),
    "support_bin_count": Metric(
        "Step's bin size", "retained examples in a seed's own bin", "examples", None, "reference"
    ),
    "support_step_rate": Metric(
        "Step's rate", "learning rate of the step of gradient ascent", "rate", None, "reference"
    ),
    "support_auto": Metric(
        "Auto's k", "retained examples that `k: auto` takes", "examples", None, "reference"
    ),
    "support_kl_retrain": Metric(
        "KL to Retrain",
        "KL divergence of the teacher's histogram of the forget set from Retrain's",
        "nats",
        "low",
        "support",
    ),
    "support_floor_retrain": Metric(
        "KL between Retrains",
        "mean KL divergence between the histograms of two seeds' Retrains",
        "nats",
        None,
        "reference",
    ),
    "rte": Metric(
        "RTE",
        "seconds from the base model and the data to the unlearned model",
        "s",
        "low",
        "cost",
    ),
    "seconds": Metric("Seconds", "seconds of one phase of the run", "s", "low", "cost"),
    "tuning_seconds": Metric("Tuning", "seconds of all trials of the tuning", "s", "low", "cost"),
    "diagnosis_seconds": Metric(
        "Diagnosis", "seconds of the teachers of all support sizes", "s", "low", "cost"
    ),
    "peak_rss_mb": Metric("Memory", "largest resident memory of the job", "MB", "low", "cost"),
    "peak_device_mb": Metric("GPU memory", "largest memory on the device", "MB", "low", "cost"),
    # What methods report of themselves and sweeps show; other names are free.
    "teacher_ua": Metric(
        "Teacher UA",
        "accuracy of LTD's teacher on the forget set, held against Retrain's UA",
        "%",
        "retrain",
        "reported",
    ),
    "target_ua": Metric(
        "Target UA",
        "share of the forget set whose soft label is largest at the true class, held against "
        "Retrain's UA",
        "%",
        "retrain",
        "reported",
    ),
    "teacher_epochs": Metric(
        "Teacher's epochs", "epochs until LTD's teacher was done", "epochs", "low", "reported"
    ),
}
METRICS |= {
    f"{TRACKED}{name}": replace(
        METRICS[name],
        label=f"{METRICS[name].label} by epoch",
        description=f"{METRICS[name].description} after an epoch; 00 is the base model",
        group="epochs",
    )
    for name in ("ua", "ra", "ta", "ua_affected", "ra_affected", "ta_affected")
}


def metric_of(name: str) -> Metric:
    """Return what is known of `name`, or of its family: `delta_acc` for `delta_acc:test:09`."""
    return METRICS[name.split(":")[0]]

"""Which groups of examples lose, such as women or one hospital's patients?

If the config has `groups:`, every value of these metadata columns is a group. A run is compared
with Retrain of the same seed on each group: error, false negatives and false positives of the class
`positive:`, and confidence minus accuracy. Differences are tested by a paired t-test over seeds;
the p-values of a run and measure are adjusted by Holm over all groups, subsets and parts. Groups of
fewer than 20 examples are not tested. A missing value (empty, or nan) is no group.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
TITLE = "Which groups lose?"
PLACE = "neighbours"
ORDER = 31
LEAST_EXAMPLES = 20  # minimum number of examples of a group that is tested
# Tested measures: label, description, and name of the metric that counts the examples.
MEASURES = {
    "group_error": ("Error", "share of wrong predictions", "group_examples"),
    "group_missed": (
        "False negatives",
        "share of the examples of the class `positive` that get another prediction",
        "group_positives",
    ),
    "group_alarm": (
        "False positives",
        "share of the examples of other classes that are predicted as the class `positive`",
        "group_negatives",
    ),
    "group_confidence": (
        "Overconfidence",
        "mean probability of the predicted class minus accuracy",
        "group_examples",
    ),
}


def _declare_metrics() -> dict[str, Metric]:
    """Return the metrics of every measure: its value, its gap from Retrain, and the interval."""
    metrics = {
        "group_examples": Metric("Group's examples", "examples of a group", "examples"),
        "group_positives": Metric(
            "Group's positives", "examples of a group in the class `positive`", "examples"
        ),
        "group_negatives": Metric(
            "Group's negatives", "examples of a group in other classes", "examples"
        ),
        "group_ece": Metric(
            "Group's ECE", "expected calibration error in 15 bins, from 500 examples on", "points"
        ),
        "group_squared_ece": Metric(
            "Group's squared ECE",
            "debiased squared calibration error in 15 bins, from 500 examples on",
            "",
            digits=4,
        ),
    }
    for name, (label, text, _) in MEASURES.items():
        gap = f"a run's minus Retrain's of the same seed, by group: {text}"
        metrics |= {
            name: Metric(f"{label} by group", f"by group: {text}", "%", "retrain"),
            f"{name}_gap": Metric(f"{label}, gap", gap, "points"),
            f"{name}_gap_low": Metric(f"{label}, gap from", f"lower end: {gap}", "points"),
            f"{name}_gap_high": Metric(f"{label}, gap to", f"upper end: {gap}", "points"),
        }
    return metrics


METRICS = _declare_metrics()

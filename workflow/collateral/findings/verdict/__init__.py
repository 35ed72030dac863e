"""Did it forget, did its neighbours get hurt, at what price, and is that more than chance?

Damage is what the nearest retained examples lose against Retrain, minus what all others lose.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("accuracy", "epochs", "membership", "locality")
PLACE = "top"
ORDER = 5
DAMAGED = "retain"  # the set on which damage is counted
# In this order, the first that holds; a number of the long table counts them from 0.
VERDICTS = (
    "collapsed",
    "did not forget",
    "hurt the neighbours",
    "like Retrain",
    "unlike Retrain",
    "not distinguishable",
    "cannot be said",
)
(COLLAPSED, UNFORGOTTEN, HURT, LIKE, UNLIKE, UNDECIDED, UNKNOWN) = VERDICTS
_OF = "over seeds, of the measure that `at` names"
METRICS = {
    "verdict": Metric("Verdict", f"from 0 on: {', '.join(VERDICTS)}", "", digits=0),
    "damage": Metric(
        "Damage", "loss near the forget set minus loss far from it, retained examples", "points"
    ),
    "forgetting_error": Metric(
        "Forgetting error",
        "mean absolute deviation of the means of UA and MIA from Retrain's",
        "points",
        "low",
    ),
    "difference": Metric("Difference", f"mean difference from Retrain {_OF}", "points"),
    "difference_low": Metric("From", f"least of the 95 % interval, by Holm, {_OF}", "points"),
    "difference_high": Metric("To", f"largest of the 95 % interval, by Holm, {_OF}", "points"),
    "difference_p": Metric("p", f"p-value of the difference, by Holm, {_OF}", "", digits=3),
    "equivalence_low": Metric(
        "Equivalence from", f"least of the 90 % interval of two one-sided tests {_OF}", "points"
    ),
    "equivalence_high": Metric(
        "Equivalence to", f"largest of the 90 % interval of two one-sided tests {_OF}", "points"
    ),
    "equivalence_p": Metric("Equivalence p", f"larger of two one-sided tests {_OF}", "", digits=3),
    "margin": Metric(
        "Margin",
        f"what counts as equal: 1.96 √2 standard deviations of Retrain {_OF}, and no less than one "
        "forgotten, or one near, example",
        "points",
    ),
    "base_ua": Metric("Base UA", "accuracy of the base model on the forget set", "%"),
}

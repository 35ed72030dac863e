"""Is a method like Retrain, is it shown to do harm or to differ, or is the answer still open?

Damage is what the nearest retained examples lose against Retrain, minus what all others lose.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
AFTER = ("accuracy", "epochs", "membership", "locality")
TITLE = "What is the verdict on each method?"
PLACE = "summary"
ORDER = 5
DAMAGED = "retain"  # subset on which damage is measured
# If any seed has one of these statuses, the method counts as collapsed.
BROKEN = ("diverged", "collapsed")
# Verdicts and their meanings; the first verdict that applies is the method's verdict.
VERDICTS = {
    "collapsed": "A seed diverged or collapsed, or TA is below half of Retrain's.",
    "harm shown": "Near or far examples lose accuracy against Retrain: a loss is shown (its "
    "interval excludes zero), and its estimate is more than the margin.",
    "difference shown": "UA, MIA or a gain of accuracy differs from Retrain's: a difference is "
    "shown (its interval excludes zero), and its estimate is more than the margin.",
    "like Retrain": "Every tested measure is shown to be within the margin of Retrain's.",
    "open": "Neither is shown: more seeds may decide.",
}
(COLLAPSED, HARM, DIFFERENT, LIKE, OPEN) = VERDICTS
# What a shown difference means, by measure and by its sign: above Retrain's (1) or below (-1).
MEANINGS = {
    ("near", 1): "hurt the neighbours",
    ("near_test", 1): "hurt the neighbours",
    ("damage", 1): "neighbours lose more than others",
    ("far", 1): "hurt everyone",
    ("far_test", 1): "hurt everyone",
    ("ua", 1): "did not forget",
    ("mia", -1): "did not forget",
    ("ua", -1): "UA too low",
    ("mia", 1): "MIA too high",
    ("near", -1): "more accurate near",
    ("near_test", -1): "more accurate near",
    ("far", -1): "more accurate far",
    ("far_test", -1): "more accurate far",
    ("damage", -1): "neighbours lose less than others",
}
_OF = "over seeds, in one measure (`at`)"
METRICS = {
    "verdict": Metric("Verdict", f"1; `at` is the verdict: {', '.join(VERDICTS)}", "", digits=0),
    "damage": Metric(
        "Damage", "loss near the forget set minus loss far from it, retained examples", "points"
    ),
    "forgetting_error": Metric(
        "Forgetting error",
        "mean absolute deviation of the means of UA and MIA from Retrain's",
        "points",
        "low",
    ),
    "difference": Metric(
        "Difference from Retrain", f"mean difference from Retrain {_OF}", "points"
    ),
    "difference_low": Metric(
        "Difference from Retrain, lower end",
        f"lower end of the difference's interval {_OF}",
        "points",
    ),
    "difference_high": Metric(
        "Difference from Retrain, upper end",
        f"upper end of the difference's interval {_OF}",
        "points",
    ),
    "difference_p": Metric("p", f"adjusted p-value of the difference {_OF}", "", digits=3),
    "equivalence_low": Metric(
        "Equivalence from", f"lower end of the 90 % interval of the difference {_OF}", "points"
    ),
    "equivalence_high": Metric(
        "Equivalence to", f"upper end of the 90 % interval of the difference {_OF}", "points"
    ),
    "equivalence_p": Metric(
        "Equivalence p", f"p-value of a difference below the margin {_OF}", "", digits=3
    ),
    "within": Metric(
        "Within",
        f"1 if the difference is shown to be inside the margin {_OF}",
        "",
        digits=0,
    ),
    "shown": Metric(
        "Shown",
        "1 or -1 if a difference above or below Retrain's is shown (its interval excludes zero) "
        f"and its estimate is beyond the margin, else 0, {_OF}",
        "",
        digits=0,
    ),
    "margin": Metric(
        "Margin",
        "largest difference that counts as equal: stated in the config, or 1.96 √2 standard "
        f"deviations of Retrain {_OF}, and at least one example",
        "points",
    ),
    "judged_rate": Metric(
        "Judged by",
        "rate that `at` names, mean over the seeds that decided the verdict; of `diverged` and "
        "`collapsed` the share of seeds",
        "%",
    ),
    "look_level": Metric(
        "Level of a look", "level of the tests with as many seeds as `at` says", "", digits=3
    ),
    "decided_at": Metric("Decided with", "number of seeds of the tests", "", digits=0),
    "seeds_needed": Metric(
        "Seeds needed",
        "number of seeds that would decide in 80 % of cases, if means and spreads stay; empty "
        "above 100",
        "",
        digits=0,
    ),
    "base_ua": Metric("Base UA", "accuracy of the base model on the forget set", "%"),
}

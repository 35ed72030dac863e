"""Did a method forget, did it harm retained examples, at what cost, and is this beyond chance?

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
    "did not forget": "UA is above the midpoint of the base model's and Retrain's. Where these two "
    "are within the margin: MIA is below Retrain's.",
    "hurt the neighbours and everyone else": "Near loss and damage are above zero; far loss is "
    "above zero and above the margin.",
    "hurt the neighbours": "Near loss and damage are above zero.",
    "hurt everyone": "Far loss is above zero and above the margin. “The base model too”: the model "
    "before unlearning has the same loss within the margin, so unlearning did not cause it.",
    "like Retrain": "Equivalent to Retrain on UA, MIA, near loss, far loss and damage.",
    "differs from Retrain": "UA, MIA, a loss or damage differs from Retrain's.",
    "cannot tell": "Neither a difference from Retrain nor equivalence is found: more seeds may "
    "decide.",
}
(COLLAPSED, UNFORGOTTEN, HURT_ALL, HURT, HURT_FAR, LIKE, UNLIKE, UNDECIDED) = VERDICTS
_OF = "over seeds, of the measure that `at` names"
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
    "difference": Metric("Difference", f"mean difference from Retrain {_OF}", "points"),
    "difference_low": Metric("From", f"lower end of the 95 % interval, by Holm, {_OF}", "points"),
    "difference_high": Metric("To", f"upper end of the 95 % interval, by Holm, {_OF}", "points"),
    "difference_p": Metric("p", f"p-value of the difference, by Holm, {_OF}", "", digits=3),
    "equivalence_low": Metric(
        "Equivalence from", f"lower end of the 90 % interval of the difference {_OF}", "points"
    ),
    "equivalence_high": Metric(
        "Equivalence to", f"upper end of the 90 % interval of the difference {_OF}", "points"
    ),
    "equivalence_p": Metric(
        "Equivalence p", f"p-value of a difference below the margin {_OF}", "", digits=3
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

"""Which number can be trusted? Every number is judged by models of which the truth is known."""

from collateral.contract.metrics import Metric
from collateral.findings.trust.claims import CLAIMS as CLAIMS

NEEDS = "retrain"
LAST = True  # computed after all other findings, those of plug-ins included
TITLE = "Which number can be trusted?"
PLACE = "summary"
ORDER = 90

# Two groups of models that a number should, or should not, tell apart, by the metric of the AUC.
COMPARISONS = {
    "trust_auc": "models that saw the forget set, against models that did not",
    "trust_silent": "models that hide what they know, against models that did not see it",
    "trust_damaged": "damaged models that saw the forget set, against damaged ones that did not",
    "trust_hurt": "damaged Retrains against Retrains",
    "trust_recipe": "Retrains of the other recipe that is told apart best, against Retrains",
}
_LABELS = {
    "trust_auc": "Saw",
    "trust_silent": "Silent",
    "trust_damaged": "Damaged, saw",
    "trust_hurt": "Damaged Retrain",
    "trust_recipe": "Other recipe",
}
METRICS = {
    f"{name}{end}": Metric(f"{_LABELS[name]}{words}", f"AUC{words}: {text}", "rate", digits=2)
    for name, text in COMPARISONS.items()
    for end, words in (("", ""), ("_low", ", lower limit"), ("_high", ", upper limit"))
}
METRICS |= {
    "trust_dose": Metric(
        "Dose",
        "of two models trained on different shares of the forget set, how often the one that saw "
        "more has the number that claims more",
        "rate",
        digits=2,
    ),
    "trust_adjacent": Metric("Next dose", "the same for neighbouring doses", "rate", digits=2),
    "trust_change": Metric(
        "Change",
        "median change by int8 weights or by one more epoch, relative to the distance between "
        "models that saw the forget set and models that did not; the larger of the two",
        "rate",
        digits=2,
    ),
    "trust_reference": Metric(
        "Other reference",
        "median change if models are compared with the Retrain of another seed, relative to the "
        "same distance; not of probes",
        "rate",
        digits=2,
    ),
    "trust_edited": Metric(
        "Saw, edited",
        "AUC: the same models after int8 weights or one more epoch; the lower of the two",
        "rate",
        digits=2,
    ),
    "trust_seeds": Metric("Seeds", "seeds of the models that are compared", ""),
    "trust_verdict": Metric(
        "Verdict on a number",
        "2: trust, 1: only with another number, 0: do not trust",
        "",
        digits=0,
    ),
}

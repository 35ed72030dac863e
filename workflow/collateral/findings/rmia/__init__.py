"""Can an attacker distinguish forgotten examples from test examples? (RMIA)

RMIA, offline (Zarifzadeh et al., 2024): the score of an example is log p(y|x) minus the logarithm
of its mean over the Retrains of all other seeds. The AUC separates forgotten examples from test
examples of the affected classes: 0.5 means that no trace is left, and it is compared with
Retrain's.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
TITLE = "Can an attacker tell forgotten from test?"
PLACE = "attacks"
ANSWER = ("rmia_auc", "")  # metric and subset that the finding's answer reports
ORDER = 6
_AUC = "AUC of the RMIA score, forgotten examples against test examples"
_ENDS = {
    "low": ("from", "lower end of the 95 % interval over seeds"),
    "high": ("to", "upper end of the 95 % interval over seeds"),
    "examples_low": ("from, examples", "lower end of the 95 % interval over examples"),
    "examples_high": ("to, examples", "upper end of the 95 % interval over examples"),
}
METRICS = {
    "rmia_auc": Metric("RMIA AUC", _AUC, "", "retrain", digits=3),
    "rmia_tpr": Metric(
        "RMIA TPR",
        "share of the forget set with a score above that of 99 % of the test examples",
        "%",
        "retrain",
    ),
    **{
        f"rmia_auc_{end}": Metric(f"RMIA AUC {label}", f"{text}: {_AUC}", "", digits=3)
        for end, (label, text) in _ENDS.items()
    },
    "rmia_non_members": Metric(
        "Non-members", "test examples of the affected classes, used as non-members", "examples"
    ),
}

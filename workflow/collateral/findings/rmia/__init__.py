"""Are the forgotten examples likelier than models that never saw them say?

RMIA, offline (Zarifzadeh et al., 2024): the score of an example is log p(y|x) minus the logarithm
of its mean over OUT models. These are the Retrains of all other seeds, for forgotten and for test
examples alike. The AUC tells forgotten examples from test examples of the affected classes: 0.5 is
no trace, and it is read against Retrain's.
"""

from collateral.contract.metrics import Metric

NEEDS = "retrain"
PLACE = "details"
ORDER = 6
_AUC = "AUC of the forgotten examples' score over models that never saw them"
_ENDS = {
    "low": ("from", "least of the 95 % interval over seeds"),
    "high": ("to", "largest of the 95 % interval over seeds"),
    "examples_low": ("from, examples", "least of the 95 % interval over examples"),
    "examples_high": ("to, examples", "largest of the 95 % interval over examples"),
}
METRICS = {
    "rmia_auc": Metric("RMIA AUC", f"{_AUC}, against test examples", "", "retrain", digits=3),
    "rmia_tpr": Metric(
        "RMIA TPR",
        "share of the forget set whose score is above all but 1 % of the test examples'",
        "%",
        "retrain",
    ),
    **{
        f"rmia_auc_{end}": Metric(f"RMIA AUC {label}", f"{text}: {_AUC}", "", digits=3)
        for end, (label, text) in _ENDS.items()
    },
    "rmia_non_members": Metric(
        "Non-members", "test examples of the affected classes, which RMIA compares with", "examples"
    ),
}

"""Are examples near the forgotten ones more exposed after unlearning, or less?

U-LiRA on a pool of shadow models (Carlini et al., 2022; Hayes et al., 2024): of an example, the law
of its margin over the models that saw it against that over the models that did not, both Gaussian.
The likelihood ratio attacks the models in turn, each with laws fitted to the others. Its AUC over
the examples of a model says how well these can be told into seen and not seen: 0.5 is not at all.
Forgotten examples should come down to it; how exposed the retained ones are should stay as it was.
"""

from collateral.contract.metrics import Metric

AFTER = ("locality",)
ORDER = 12
_AUC = "AUC by which a model's examples are told into seen and not seen"
_WHOSE = "mean over shadow models"
_ENDS = {"low": ("from", "least"), "high": ("to", "largest")}
_NUMBERS = {
    "lira_auc": Metric("LiRA AUC", f"{_AUC} before unlearning, {_WHOSE}", "", digits=3),
    "ulira_auc": Metric("U-LiRA AUC", f"{_AUC} after unlearning, {_WHOSE}", "", digits=3),
    "exposure_change": Metric(
        "Exposure", f"{_AUC}, after unlearning minus before, {_WHOSE}", "", digits=3
    ),
}
_TPR = "share of seen examples told as such where 1 % of those not seen are, over all models"
METRICS = {
    **_NUMBERS,
    "lira_tpr": Metric("LiRA TPR", f"{_TPR}, before unlearning", "%"),
    "ulira_tpr": Metric("U-LiRA TPR", f"{_TPR}, after unlearning", "%"),
    **{
        f"{name}_{end}": Metric(
            f"{metric.label} {word}",
            f"{extreme} of the interval over shadow models: {metric.description}",
            "",
            digits=3,
        )
        for name, metric in _NUMBERS.items()
        for end, (word, extreme) in _ENDS.items()
    },
    "exposure_count": Metric("Attacked", "training examples that are attacked", "examples"),
    "exposure_models": Metric("Shadow models", "shadow models that are attacked", ""),
    "shadow_sure": Metric(
        "Shadow models learned",
        "share of the examples it saw of which a shadow model is more sure than not, the least",
        "%",
    ),
}

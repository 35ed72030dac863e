"""Does unlearning expose the neighbours of the forgotten examples to membership attacks?

U-LiRA on a pool of shadow models (Carlini et al., 2022; Hayes et al., 2024). For every example, two
Gaussians describe its margin: over the models that were trained on it, and over the others. Their
likelihood ratio attacks each model with Gaussians fitted to the other models. The AUC over the
examples of a model tells how well seen and unseen examples can be separated; 0.5 is guessing. For
forgotten examples it should fall to 0.5; for retained examples it should not change.
"""

from collateral.contract.metrics import Metric

AFTER = ("locality",)
TITLE = "Are the neighbours exposed to attacks?"
PLACE = "attacks"
ORDER = 12
_AUC = "AUC of separating a model's seen from its unseen examples"
_MEAN = "mean over shadow models"
_ENDS = {"low": ("from", "lower"), "high": ("to", "upper")}
_NUMBERS = {
    "lira_auc": Metric("LiRA AUC", f"{_AUC} before unlearning, {_MEAN}", "", digits=3),
    "ulira_auc": Metric("U-LiRA AUC", f"{_AUC} after unlearning, {_MEAN}", "", digits=3),
    "exposure_change": Metric(
        "Exposure", f"{_AUC}, after unlearning minus before, {_MEAN}", "", digits=3
    ),
}
_TPR = "TPR at an FPR of 1 %: share of seen examples that are detected, over all shadow models"
METRICS = {
    **_NUMBERS,
    "lira_tpr": Metric("LiRA TPR", f"{_TPR}, before unlearning", "%"),
    "ulira_tpr": Metric("U-LiRA TPR", f"{_TPR}, after unlearning", "%"),
    **{
        f"{name}_{end}": Metric(
            f"{metric.label} {word}",
            f"{which} end of the interval over shadow models: {metric.description}",
            "",
            digits=3,
        )
        for name, metric in _NUMBERS.items()
        for end, (word, which) in _ENDS.items()
    },
    "exposure_count": Metric("Attacked", "training examples that are attacked", "examples"),
    "exposure_models": Metric("Shadow models", "shadow models that are attacked", ""),
    "shadow_sure": Metric(
        "Shadow models learned",
        "share of its own training examples to which a shadow model gives a probability above 1/2, "
        "smallest over shadow models",
        "%",
    ),
}

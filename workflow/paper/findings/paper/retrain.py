"""Settings and recipes for which the paper's tables have Retrain's numbers.

A benchmark with `retrain: {printed: paper}` must have one of these settings. If it trains its base
model, it must train it as the paper does, because the paper's Retrain was trained in this way.
"""

from collections.abc import Mapping
from typing import Any

from collateral.contract.params import TrainingParams
from paper.printed import Setting, settings

SETTINGS = ", ".join(f"{s.data} {s.model} {s.class_name} {s.fraction:g}" for s in settings())
# Training that the paper states, by data set; the defaults of TrainingParams are of CIFAR-100.
STATED = ("epochs", "batch_size", "optimizer", "lr", "momentum", "nesterov", "weight_decay")
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "cifar100": {
        key: getattr(TrainingParams(), key) for key in (*STATED, "schedule", "warmup", "augment")
    },
    "svhn": {
        **{"epochs": 100, "batch_size": 256, "optimizer": "adamw", "lr": 1e-3},
        **{"weight_decay": 0.05, "schedule": "cosine"},
    },
}


def has_retrain(data: Mapping[str, Any], model: str, forget: Mapping[str, Any]) -> bool:
    """Tell whether the paper has Retrain's numbers for this data set, model and forget set.

    The paper forgets the first share of a class, not a random one.
    """
    if data.keys() - {"root"} != {"name"} or not {"class", "fraction"} <= forget.keys():
        return False
    if forget.get("order", "first") != "first":
        return False
    return Setting(data["name"], model, forget["class"], forget["fraction"]) in settings()


def recipe(data: str) -> Mapping[str, Any]:
    """Return the training parameters that the paper states of Retrain on a data set."""
    return RECIPES.get(data, {})

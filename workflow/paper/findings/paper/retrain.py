"""Settings in which the paper prints Retrain's numbers; `retrain: {printed: paper}` needs one."""

from collections.abc import Mapping
from typing import Any

from paper.printed import Setting, settings

SETTINGS = ", ".join(f"{s.data} {s.model} {s.class_name} {s.fraction:g}" for s in settings())


def has_retrain(data: Mapping[str, Any], model: str, forget: Mapping[str, Any]) -> bool:
    """Tell whether the paper has Retrain's numbers for a complete data set and a forget set."""
    if data.keys() - {"root"} != {"name"} or not {"class", "fraction"} <= forget.keys():
        return False
    return Setting(data["name"], model, forget["class"], forget["fraction"]) in settings()

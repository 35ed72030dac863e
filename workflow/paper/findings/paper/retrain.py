"""Settings for which the paper's tables have Retrain's numbers.

A benchmark with `retrain: {printed: paper}` must have one of these settings.
"""

from collections.abc import Mapping
from typing import Any

from paper.printed import Setting, settings

SETTINGS = ", ".join(f"{s.data} {s.model} {s.class_name} {s.fraction:g}" for s in settings())


def has_retrain(data: Mapping[str, Any], model: str, forget: Mapping[str, Any]) -> bool:
    """Tell whether the paper has Retrain's numbers for this data set, model and forget set."""
    if data.keys() - {"root"} != {"name"} or not {"class", "fraction"} <= forget.keys():
        return False
    return Setting(data["name"], model, forget["class"], forget["fraction"]) in settings()

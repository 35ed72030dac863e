"""The one way to a model: by its name in the config."""

from importlib import import_module

from collateral.core.dataset import ImageInfo
from collateral.models.classifier import Classifier
from collateral.models.names import NAMES


def build_model(name: str, info: ImageInfo) -> Classifier:
    """Build the freshly initialised model `name` for the images that `info` describes."""
    if name not in NAMES:
        raise ValueError(f"model: unknown {name!r}; known: {sorted(NAMES)}")
    # Imported by name, so that only the architecture that runs is loaded (timm takes seconds).
    model: Classifier = import_module(NAMES[name]).build(name, info)
    return model

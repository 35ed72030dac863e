"""The one way to a model: by its name in the config."""

from collateral.contract.data import ImageInfo
from collateral.contract.plugins import MODEL
from collateral.models._classifier import Classifier


def build_model(name: str, info: ImageInfo) -> Classifier:
    """Build the freshly initialised model `name` for the images that `info` describes."""
    # By name, so that only the architecture that runs is loaded (timm takes seconds).
    model: Classifier = MODEL.load(name).build(name, info)
    return model

"""The one way to a model: by its name in the config."""

from inspect import signature
from types import ModuleType
from typing import Any

from torch import Tensor, nn

from collateral.contract.data import ImageInfo
from collateral.contract.plugins import MODEL, PluginError
from collateral.models._classifier import Classifier
from collateral.models._taken_apart import classifier_of

HEAD = "head"  # where a model of the user's own has it, unless its file says otherwise


def build_model(name: str, info: ImageInfo) -> Classifier:
    """Build the freshly initialised model `name` for the images that `info` describes."""
    # By name, so that only the architecture that runs is loaded (timm takes seconds).
    module = MODEL.load(name)
    if MODEL.is_plugged_in(name):
        return _plugged(module, name, info)
    model: Classifier = module.build(name, info)
    return model


def _plugged(module: ModuleType, name: str, info: ImageInfo) -> Classifier:
    """Build a model of the user's own, which need not be a Classifier."""
    takes_name = len(signature(module.build).parameters) > 1
    made: Any = module.build(name, info) if takes_name else module.build(info)
    if isinstance(made, Classifier):
        return made
    try:
        return _taken_apart(made, getattr(module, "HEAD", None), info)
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        said = " ".join(str(error).split())
        raise PluginError(f"plugins: '{module.__file__}': {said}") from error


def _taken_apart(made: Any, head: str | None, info: ImageInfo) -> Classifier:
    if not isinstance(made, nn.Module):
        raise TypeError(f"build returned a {type(made).__name__}; expected a torch.nn.Module")
    if head is not None:
        return classifier_of(made, head, _whole, info)
    if not (hasattr(made, "features") and hasattr(made, HEAD)):
        raise AttributeError(
            f"its {type(made).__name__} has not both `features` and `head`; "
            'name its last layer: HEAD = "fc"'
        )
    return classifier_of(made, HEAD, _by_features, info)


def _whole(inner: Any, x: Tensor) -> Tensor:
    """Embed by all that is left when the head is an identity."""
    features: Tensor = inner(x)
    return features


def _by_features(inner: Any, x: Tensor) -> Tensor:
    features: Tensor = inner.features(x)
    return features

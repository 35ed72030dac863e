"""Build a model by its name in the config."""

from inspect import signature
from types import ModuleType
from typing import Any

from torch import Tensor, nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier
from collateral.models._wrap import wrap_model
from collateral.plugins.find import MODEL, PluginError

HEAD = "head"  # default name of the head attribute of a user's model


def build_model(name: str, info: ImageInfo) -> Classifier:
    """Build a newly initialised model for this shape of images and number of classes."""
    # Only the file of this architecture is imported, because importing timm takes seconds.
    module = MODEL.load(name)
    if MODEL.is_plugged_in(name):
        return _build_plugin(module, name, info)
    model: Classifier = module.build(name, info)
    return model


def _build_plugin(module: ModuleType, name: str, info: ImageInfo) -> Classifier:
    """Build a model of a plug-in, which may be any module with a linear head."""
    takes_name = len(signature(module.build).parameters) > 1
    made: Any = module.build(name, info) if takes_name else module.build(info)
    if isinstance(made, Classifier):
        return made
    try:
        return _wrap(made, getattr(module, "HEAD", None), info)
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        text = " ".join(str(error).split())
        raise PluginError(f"plugins: '{module.__file__}': {text}") from error


def _wrap(made: Any, head: str | None, info: ImageInfo) -> Classifier:
    if not isinstance(made, nn.Module):
        raise TypeError(f"build returned a {type(made).__name__}; expected a torch.nn.Module")
    if head is not None:
        return wrap_model(made, head, _embed_by_call, info)
    if not (hasattr(made, "features") and hasattr(made, HEAD)):
        raise AttributeError(
            f"its {type(made).__name__} has not both `features` and `head`; "
            'name its last layer: HEAD = "fc"'
        )
    return wrap_model(made, HEAD, _embed_by_features, info)


def _embed_by_call(inner: Any, x: Tensor) -> Tensor:
    """Return the features of a model: its output with an identity in place of the head."""
    features: Tensor = inner(x)
    return features


def _embed_by_features(inner: Any, x: Tensor) -> Tensor:
    features: Tensor = inner.features(x)
    return features

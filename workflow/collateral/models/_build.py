"""Build a model by its name in the config."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier, eval_mode
from collateral.plugins.find import MODEL, PluginError

# Largest accepted difference of `head(features)` from the logits, relative to the largest logit.
ROUNDING = 1e-4

# function that returns the features, given a model without head, and images
Embed = Callable[[Any, Tensor], Tensor]


class Body(nn.Module):
    """The body of a Classifier: a model whose head was replaced by an identity."""

    def __init__(self, inner: nn.Module, embed: Embed) -> None:
        """Store the model `inner` and the function that computes its features."""
        super().__init__()
        self.inner = inner
        self.embed = embed

    def forward(self, x: Tensor) -> Tensor:
        """Return the features, one row per image."""
        return self.embed(self.inner, x)


def wrap_model(inner: nn.Module, path: str, embed: Embed, info: ImageInfo) -> Classifier:
    """Make a Classifier of a model: replace its head at `path`, and compute features by `embed`."""
    head = inner.get_submodule(path)
    if not isinstance(head, nn.Linear):
        raise ValueError(f"its head, {path}, is a {type(head).__name__}, not one linear layer")
    with eval_mode(inner):
        image = _image(info)
        expected = inner(image)
        above, _, name = path.rpartition(".")
        setattr(inner.get_submodule(above), name, nn.Identity())
        _check(head, embed(inner, image), expected, info)
    return Classifier(info, Body(inner, embed), head, path)


def _check(head: nn.Linear, features: Tensor, expected: Tensor, info: ImageInfo) -> None:
    if head.out_features != info.num_classes:
        raise ValueError(f"its head has {head.out_features} outputs for {info.num_classes} classes")
    if features.shape != (1, head.in_features):
        raise ValueError(
            f"its features are {tuple(features.shape[1:])}, and its head takes {head.in_features}"
        )
    if (head(features) - expected).abs().max() > ROUNDING * expected.abs().max():
        raise ValueError("its output is not that of its head on its features")


def _image(info: ImageInfo) -> Tensor:
    """Return a fixed image for comparing logits; random numbers are not used."""
    height, width, channels = info.shape
    return torch.linspace(-1, 1, channels * height * width).view(1, channels, height, width)


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
    if not (hasattr(made, "features") and hasattr(made, "head")):
        raise AttributeError(
            f"its {type(made).__name__} has not both `features` and `head`; "
            'name its last layer: HEAD = "fc"'
        )
    return wrap_model(made, "head", _embed_by_features, info)


def _embed_by_call(inner: Any, x: Tensor) -> Tensor:
    """Return the features of a model: its output with an identity in place of the head."""
    features: Tensor = inner(x)
    return features


def _embed_by_features(inner: Any, x: Tensor) -> Tensor:
    features: Tensor = inner.features(x)
    return features

"""Somebody else's model as a `Classifier`: its head is taken out, and the rest embeds images."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier
from collateral.models._evaluating import evaluating

BODY = "body.inner."
HEAD = "head."
ROUNDING = 1e-4  # of the largest logit, between two ways to the same

Embed = Callable[[Any, Tensor], Tensor]  # from a model without its head, and images, to features


class Body(nn.Module):
    """A model without its head."""

    def __init__(self, inner: nn.Module, embed: Embed) -> None:
        """Keep the model, in whose head's place is an identity."""
        super().__init__()
        self.inner = inner
        self.embed = embed

    def forward(self, x: Tensor) -> Tensor:
        """Return what the head is given, (B, D)."""
        return self.embed(self.inner, x)


def classifier_of(inner: nn.Module, path: str, embed: Embed, info: ImageInfo) -> Classifier:
    """Take the head at `path` out of a model; what is left must give it its input by `embed`."""
    head = inner.get_submodule(path)
    if not isinstance(head, nn.Linear):
        raise ValueError(f"its head, {path}, is a {type(head).__name__}, not one linear layer")
    with evaluating(inner):
        image = _image(info)
        expected = inner(image)
        _replace(inner, path, nn.Identity())
        _check(head, embed(inner, image), expected, info)
    names = partial(_renamed, path), partial(_restored, path)
    return Classifier(info, Body(inner, embed), head, *names)


def _check(head: nn.Linear, features: Tensor, expected: Tensor, info: ImageInfo) -> None:
    if head.out_features != info.num_classes:
        raise ValueError(f"its head has {head.out_features} outputs for {info.num_classes} classes")
    if features.shape != (1, head.in_features):
        raise ValueError(
            f"its features are {tuple(features.shape[1:])}, and its head takes {head.in_features}"
        )
    if (head(features) - expected).abs().max() > ROUNDING * expected.abs().max():
        raise ValueError("its output is not that of its head on its features")


def _renamed(path: str, name: str) -> str:
    """Return what a weight of the whole model is called in the Classifier."""
    if name.startswith(f"{path}."):
        return HEAD + name.removeprefix(f"{path}.")
    return BODY + name


def _restored(path: str, name: str) -> str:
    """Return the name in the whole model of a weight of the Classifier."""
    if name.startswith(HEAD):
        return f"{path}." + name.removeprefix(HEAD)
    return name.removeprefix(BODY)


def _replace(inner: nn.Module, path: str, module: nn.Module) -> None:
    above, _, name = path.rpartition(".")
    setattr(inner.get_submodule(above), name, module)


def _image(info: ImageInfo) -> Tensor:
    """Return an image that no generator draws: weights must not depend on the look at them."""
    height, width, channels = info.shape
    return torch.linspace(-1, 1, channels * height * width).view(1, channels, height, width)

"""Wrap any model with a linear head as a `Classifier`: the model without its head is the body."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from collateral.contract.data import ImageInfo
from collateral.models._classifier import Classifier
from collateral.models._eval_mode import eval_mode

BODY = "body.inner."
HEAD = "head."
ROUNDING = 1e-4  # tolerance between two computations of a logit, relative to the largest one

Embed = Callable[[Any, Tensor], Tensor]  # maps a model without its head, and images, to features


class Body(nn.Module):
    """A model without its head."""

    def __init__(self, inner: nn.Module, embed: Embed) -> None:
        """Store a model whose head was replaced by an identity."""
        super().__init__()
        self.inner = inner
        self.embed = embed

    def forward(self, x: Tensor) -> Tensor:
        """Return the features, (B, D)."""
        return self.embed(self.inner, x)


def wrap_model(inner: nn.Module, path: str, embed: Embed, info: ImageInfo) -> Classifier:
    """Replace the head at `path` by an identity; `embed` must then return the head's input."""
    head = inner.get_submodule(path)
    if not isinstance(head, nn.Linear):
        raise ValueError(f"its head, {path}, is a {type(head).__name__}, not one linear layer")
    with eval_mode(inner):
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
    """Return the name in the Classifier of a weight of the wrapped model."""
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
    """Return a fixed image, so that this check draws no random numbers."""
    height, width, channels = info.shape
    return torch.linspace(-1, 1, channels * height * width).view(1, channels, height, width)

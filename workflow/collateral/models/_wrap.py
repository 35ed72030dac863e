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
ROUNDING = 1e-4  # tolerance of recomputed logits, as a share of the largest logit

Embed = Callable[[Any, Tensor], Tensor]  # function (model without head, images) -> features


class Body(nn.Module):
    """The body of a Classifier: a model whose head was replaced by an identity."""

    def __init__(self, inner: nn.Module, embed: Embed) -> None:
        """Store a model whose head was replaced by an identity."""
        super().__init__()
        self.inner = inner
        self.embed = embed

    def forward(self, x: Tensor) -> Tensor:
        """Return the features, (B, D)."""
        return self.embed(self.inner, x)


def wrap_model(inner: nn.Module, path: str, embed: Embed, info: ImageInfo) -> Classifier:
    """Wrap a model; the head at `path` becomes an identity, and `embed` returns the features."""
    head = inner.get_submodule(path)
    if not isinstance(head, nn.Linear):
        raise ValueError(f"its head, {path}, is a {type(head).__name__}, not one linear layer")
    with eval_mode(inner):
        image = _image(info)
        expected = inner(image)
        _replace(inner, path, nn.Identity())
        _check(head, embed(inner, image), expected, info)
    names = partial(_classifier_name, path), partial(_original_name, path)
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


def _classifier_name(path: str, name: str) -> str:
    """Return the name of a weight in the Classifier from its name in the wrapped model."""
    if name.startswith(f"{path}."):
        return HEAD + name.removeprefix(f"{path}.")
    return BODY + name


def _original_name(path: str, name: str) -> str:
    """Return the name of a weight in the wrapped model from its name in the Classifier."""
    if name.startswith(HEAD):
        return f"{path}." + name.removeprefix(HEAD)
    return name.removeprefix(BODY)


def _replace(inner: nn.Module, path: str, module: nn.Module) -> None:
    above, _, name = path.rpartition(".")
    setattr(inner.get_submodule(above), name, module)


def _image(info: ImageInfo) -> Tensor:
    """Return a fixed image for comparing logits; random numbers are not used."""
    height, width, channels = info.shape
    return torch.linspace(-1, 1, channels * height * width).view(1, channels, height, width)

"""Untrained classifiers of the library timm by name, such as `timm/resnet18`.

Their features are timm's `forward_head(forward_features(x), pre_logits=True)`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import timm
from torch import Tensor, nn

from collateral.contract.data import ImageInfo
from collateral.models._build import wrap_model
from collateral.models._classifier import Classifier
from collateral.models._metadata import PREFIX, find_timm_metadata

FILTER = "checkpoint_filter_fn"  # timm's name of the function that converts the weights of a file


def build(name: str, info: ImageInfo) -> Classifier:
    """Build a timm classifier for this number of classes and this shape of images."""
    height, width, channels = info.shape
    size: dict[str, Any] = (
        {"img_size": (height, width)} if find_timm_metadata(name).is_sized else {}
    )
    try:
        inner = timm.create_model(
            name.removeprefix(PREFIX), in_chans=channels, num_classes=info.num_classes, **size
        )
        path = head_path(inner)
        head = {
            f"{path}.{name}": value for name, value in inner.get_submodule(path).named_parameters()
        }
        model = wrap_model(inner, path, embed, info)
    except Exception as error:  # timm raises errors of many types if images are too small.
        raise ValueError(
            f"model: {name} cannot look at {height}x{width}x{channels} images "
            f"({' '.join(str(error).split())}); choose another model or size"
        ) from error
    if convert := getattr(sys.modules[type(inner).__module__], FILTER, None):
        model.adapt = partial(adapt, convert, inner, head)
    return model


def adapt(
    convert: Callable[..., dict[str, Tensor]],
    inner: nn.Module,
    head: Mapping[str, Tensor],
    given: dict[str, Tensor],
) -> dict[str, Tensor]:
    """Convert the weights of a file by timm's own filter for this architecture.

    It resamples position embeddings and tables of position biases, and renames the weights of other
    public files. Filters recognise timm's files by their head; `head` stands in for a missing one.
    """
    stand_in = head.keys() - given.keys() if {*inner.state_dict()} <= {*given} else {*()}
    found = convert({**given, **{name: head[name] for name in stand_in}}, inner)
    return {name: value for name, value in found.items() if name not in stand_in}


def embed(inner: Any, x: Tensor) -> Tensor:
    """Return the penultimate features of a timm model."""
    features: Tensor = inner.forward_head(inner.forward_features(x), pre_logits=True)
    return features


def head_path(inner: Any) -> str:
    """Return the attribute path of the head of a timm model."""
    head = inner.get_classifier()
    return next((path for path, module in inner.named_modules() if module is head), "")

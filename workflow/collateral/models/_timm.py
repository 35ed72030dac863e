"""Untrained classifiers of the library timm by name, such as `timm/resnet18`.

Their features are timm's `forward_head(forward_features(x), pre_logits=True)`.
"""

from __future__ import annotations

from typing import Any

import timm
from torch import Tensor

from collateral.contract.data import ImageInfo
from collateral.models._build import wrap_model
from collateral.models._classifier import Classifier
from collateral.models._metadata import PREFIX, find_timm_metadata


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
        return wrap_model(inner, head_path(inner), embed, info)
    except Exception as error:  # timm raises errors of many types if images are too small.
        raise ValueError(
            f"model: {name} cannot look at {height}x{width}x{channels} images "
            f"({' '.join(str(error).split())}); choose another model or size"
        ) from error


def embed(inner: Any, x: Tensor) -> Tensor:
    """Return the penultimate features of a timm model."""
    features: Tensor = inner.forward_head(inner.forward_features(x), pre_logits=True)
    return features


def head_path(inner: Any) -> str:
    """Return the attribute path of the head of a timm model."""
    head = inner.get_classifier()
    return next((path for path, module in inner.named_modules() if module is head), "")

"""Metadata of models, without importing torch: numbers of weights and of features.

Those of timm's models are read from a file, because importing timm takes seconds;
`pytest tests/contract/test_timm.py --fix` rewrites the file.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import Path

from collateral.contract.messages import nearest_names, quoted
from collateral.models import NAMES

Shape = tuple[int, int, int]  # height, width, number of channels
BIAS, LAYER_NORM, BATCH_NORM = 1, 2, 4  # number of values that each stores per output channel
UNKNOWN = "resnet56"  # built-in model whose metadata are assumed for models of plug-ins
PREFIX = "timm/"
FILE = Path(__file__).with_name("_timm.csv")
VIT_BLOCKS, VIT_WIDTH, VIT_PATCH = 12, 192, 4


@dataclass(frozen=True)
class Layer:
    """A convolution, a linear layer or a layer norm."""

    weights: int  # number of weights per output channel
    channels: int  # number of output channels
    # Number of other stored values per output channel: BIAS, LAYER_NORM or BATCH_NORM.
    kept: int


@dataclass(frozen=True)
class ModelMetadata:
    """Metadata of a model without its head; `numbers` counts weights and buffers."""

    numbers: int
    features: int

    def bytes(self, num_classes: int) -> int:
        """Return the size in bytes of all weights as float32, including the head."""
        return 4 * (self.numbers + (self.features + 1) * num_classes)


@cache
def find_metadata(model: str, shape: Shape) -> ModelMetadata:
    """Return the metadata of a model by its name, for images of this shape."""
    if model.startswith(PREFIX):
        timm = find_timm_metadata(model)
        return ModelMetadata(timm.numbers, timm.features)
    if model not in NAMES:
        return find_metadata(UNKNOWN, shape)
    family = model.rstrip("0123456789")
    if family == "resnet":
        return _sum(_resnet(int(model.removeprefix(family)), shape[2]))
    if family == "vit_tiny":
        return _vit(shape)
    return _sum(FAMILIES[family](shape))


def _sum(layers: Iterator[Layer]) -> ModelMetadata:
    found = list(layers)
    numbers = sum((layer.weights + layer.kept) * layer.channels for layer in found)
    return ModelMetadata(numbers, found[-1].channels)


def _resnet(depth: int, colours: int) -> Iterator[Layer]:
    """Yield the convolutions of a ResNet-(6n+2)."""
    yield Layer(9 * colours, 16, BATCH_NORM)
    for before, channels in pairwise((16, 16, 32, 64)):
        if channels != before:
            yield Layer(before, channels, BATCH_NORM)  # projection in the shortcut
        yield Layer(9 * before, channels, BATCH_NORM)
        for _ in range((depth - 2) // 3 - 1):
            yield Layer(9 * channels, channels, BATCH_NORM)


def _vit(shape: Shape) -> ModelMetadata:
    height, width, channels = shape
    # Number of patches plus the class token.
    tokens = (height // VIT_PATCH) * (width // VIT_PATCH) + 1

    def layers() -> Iterator[Layer]:
        yield Layer(VIT_PATCH**2 * channels, VIT_WIDTH, BIAS)
        for _ in range(VIT_BLOCKS):
            for inputs, outputs in ((1, 3), (1, 1), (1, 4), (4, 1)):
                yield Layer(inputs * VIT_WIDTH, outputs * VIT_WIDTH, BIAS)
            yield Layer(0, 2 * VIT_WIDTH, LAYER_NORM)
        # Position embeddings and the class token.
        yield Layer(tokens + 1, VIT_WIDTH, 0)
        yield Layer(0, VIT_WIDTH, LAYER_NORM)

    return _sum(layers())


@dataclass(frozen=True)
class TimmMetadata:
    """Metadata of a timm model without its head."""

    numbers: int  # number of weights and buffers
    features: int
    is_sized: bool  # whether the image size is an argument of the model


@cache
def read_timm() -> dict[str, TimmMetadata | None]:
    """Return a dict from timm model to metadata, or to None if its head is not one linear layer."""
    found: dict[str, TimmMetadata | None] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for name, *values in [*csv.reader(file)][1:]:
            numbers, features, is_sized = (int(value or 0) for value in values)
            facts = TimmMetadata(numbers, features, bool(is_sized))
            found[name] = facts if numbers else None
    return found


def names() -> list[str]:
    """Return the names of timm models that a config can use."""
    return [PREFIX + name for name, facts in read_timm().items() if facts]


def find_timm_metadata(model: str) -> TimmMetadata:
    """Return the metadata of a timm model by its name in the config."""
    facts = read_timm().get(model.removeprefix(PREFIX))
    if facts is None:
        raise ValueError(no_such(model))
    return facts


def no_such(model: str) -> str:
    """Return the error message for a timm model that is unknown or has no linear head."""
    if model.removeprefix(PREFIX) in read_timm():
        return f"{quoted(model)}: its head is not one linear layer; choose another"
    near = ", ".join(nearest_names(model, names())) or "none"
    return f"no model {quoted(model)} among the {len(names())} of timm; nearest: {near}"


def _small_cnn(shape: Shape) -> Iterator[Layer]:
    for before, channels in pairwise((shape[2], 32, 64, 128)):
        yield Layer(9 * before, channels, BATCH_NORM)


def _mnist_cnn(shape: Shape) -> Iterator[Layer]:
    height, width, channels = shape
    yield Layer(9 * channels, 16, BIAS)
    yield Layer(9 * 16, 32, BIAS)
    yield Layer(32 * (height // 4) * (width // 4), 64, BIAS)


def _mlp(shape: Shape) -> Iterator[Layer]:
    yield Layer(prod(shape), 256, BIAS)


FAMILIES: dict[str, Callable[[Shape], Iterator[Layer]]] = {
    "mlp": _mlp,
    "mnist_cnn": _mnist_cnn,
    "small_cnn": _small_cnn,
}

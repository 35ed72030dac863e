"""Metadata of models, without importing torch: numbers of weights and of features.

Those of timm's models are read from a file, because importing timm takes seconds;
`pytest tests/contract/test_timm.py --fix` rewrites the file.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import Path

from collateral.contract.messages import nearest_names, quoted
from collateral.models import NAMES

Shape = tuple[int, int, int]  # height, width, number of channels
Layer = tuple[int, int]  # number of stored values per output channel, number of output channels
BIAS, LAYER_NORM, BATCH_NORM = 1, 2, 4  # number of values that each stores per output channel
UNKNOWN = "resnet56"  # built-in model whose metadata are assumed for models of plug-ins
PREFIX = "timm/"
FILE = Path(__file__).with_name("_timm.csv")
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
VIT_BLOCKS, VIT_WIDTH, VIT_PATCH = 12, 192, 4


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
        return find_timm_metadata(model)
    if model not in NAMES:
        return find_metadata(UNKNOWN, shape)
    if model == "resnet18":
        return _sum(_resnet((64, 128, 256, 512), 2, shape[2]))
    family = model.rstrip("0123456789")
    if family == "resnet":
        num_blocks = (int(model.removeprefix(family)) - 2) // 6
        return _sum(_resnet((16, 32, 64), num_blocks, shape[2]))
    return _sum(LAYERS[family](shape))


def _sum(layers: Iterator[Layer]) -> ModelMetadata:
    found = list(layers)
    return ModelMetadata(sum(map(prod, found)), features=found[-1][1])


def _resnet(widths: Sequence[int], num_blocks: int, colours: int) -> Iterator[Layer]:
    """Yield the convolutions of a ResNet with a 3x3 stem and as many stages as widths."""
    yield 9 * colours + BATCH_NORM, widths[0]
    for before, channels in pairwise((widths[0], *widths)):
        if channels != before:
            yield before + BATCH_NORM, channels  # projection in the shortcut
        yield 9 * before + BATCH_NORM, channels
        for _ in range(2 * num_blocks - 1):
            yield 9 * channels + BATCH_NORM, channels


def _vit(shape: Shape) -> Iterator[Layer]:
    height, width, channels = shape
    # Number of patches plus the class token.
    tokens = (height // VIT_PATCH) * (width // VIT_PATCH) + 1
    yield VIT_PATCH**2 * channels + BIAS, VIT_WIDTH
    for _ in range(VIT_BLOCKS):
        for inputs, outputs in ((1, 3), (1, 1), (1, 4), (4, 1)):
            yield inputs * VIT_WIDTH + BIAS, outputs * VIT_WIDTH
        yield LAYER_NORM, 2 * VIT_WIDTH
    yield tokens + 1, VIT_WIDTH  # position embeddings and the class token
    yield LAYER_NORM, VIT_WIDTH


@dataclass(frozen=True)
class TimmMetadata(ModelMetadata):
    """Metadata of a timm model without its head."""

    is_sized: bool  # whether the image size is an argument of the model
    # Normalisation of images in [0, 1] for timm's weights of this architecture; empty in the file
    # for that of ImageNet.
    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD


@cache
def read_timm() -> dict[str, TimmMetadata | None]:
    """Return a dict from timm model to metadata, or to None if its head is not one linear layer."""
    found: dict[str, TimmMetadata | None] = {}
    with FILE.open(encoding="utf-8", newline="") as file:
        for name, *values in [*csv.reader(file)][1:]:
            numbers, features, is_sized = (int(value or 0) for value in values[:3])
            mean, std = (tuple(map(float, value.split())) for value in values[3:])
            facts = TimmMetadata(
                *(numbers, features, bool(is_sized)),
                *(mean or IMAGENET_MEAN, std or IMAGENET_STD),
            )
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


def find_normalisation(model: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of images for timm's weights of an architecture."""
    facts = find_timm_metadata(model)
    return facts.mean, facts.std


def no_such(model: str) -> str:
    """Return the error message for a timm model that is unknown or has no linear head."""
    if model.removeprefix(PREFIX) in read_timm():
        return f"{quoted(model)}: its head is not one linear layer; choose another"
    near = ", ".join(nearest_names(model, names())) or "none"
    return f"no model {quoted(model)} among the {len(names())} of timm; nearest: {near}"


def _small_cnn(shape: Shape) -> Iterator[Layer]:
    for before, channels in pairwise((shape[2], 32, 64, 128)):
        yield 9 * before + BATCH_NORM, channels


def _mnist_cnn(shape: Shape) -> Iterator[Layer]:
    height, width, channels = shape
    yield 9 * channels + BIAS, 16
    yield 9 * 16 + BIAS, 32
    yield 32 * (height // 4) * (width // 4) + BIAS, 64


def _mlp(shape: Shape) -> Iterator[Layer]:
    yield prod(shape) + BIAS, 256


LAYERS: dict[str, Callable[[Shape], Iterator[Layer]]] = {
    "mlp": _mlp,
    "mnist_cnn": _mnist_cnn,
    "small_cnn": _small_cnn,
    "vit_tiny": _vit,
}

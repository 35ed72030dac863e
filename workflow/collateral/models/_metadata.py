"""Metadata of models, without importing torch: numbers of weights, features and multiply-adds.

Those of timm's models are read from a file, because importing timm takes seconds;
`pytest tests/contract/test_timm.py --fix` rewrites the file.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import prod
from pathlib import Path

from collateral.contract.messages import nearest_names, quoted
from collateral.models import NAMES
from collateral.plugins.find import MODEL

Shape = tuple[int, int, int]  # height, width, number of channels
BIAS, LAYER_NORM, BATCH_NORM = 1, 2, 4  # number of values that each stores per output channel
UNKNOWN = "resnet56"  # built-in model whose metadata are assumed for models of plug-ins
# Name of the constant by which a plug-in declares the multiply-adds of its model per image.
WORK = "MULTIPLY_ADDS"
# Multiply-adds per activation in ResNet-56; the same ratio is assumed for timm's models.
MULTIPLY_ADDS_PER_ACTIVATION = 240
PREFIX = "timm/"
FILE = Path(__file__).with_name("_timm.csv")
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
VIT_BLOCKS, VIT_WIDTH, VIT_PATCH = 12, 192, 4


@dataclass(frozen=True)
class Layer:
    """A convolution, a linear layer or a layer norm."""

    weights: int  # number of weights per output channel
    channels: int  # number of output channels
    # Number of other stored values per output channel: BIAS, LAYER_NORM or BATCH_NORM.
    kept: int
    places: int = 1  # number of output pixels or tokens


@dataclass(frozen=True)
class ModelMetadata:
    """Metadata of a model without its head; `numbers` counts weights and buffers."""

    numbers: int
    features: int
    multiply_adds: int
    activations: int  # number of values per image in the outputs of all layers

    def bytes(self, num_classes: int) -> int:
        """Return the size in bytes of all weights as float32, including the head."""
        return 4 * (self.numbers + (self.features + 1) * num_classes)


@cache
def find_metadata(model: str, shape: Shape) -> ModelMetadata:
    """Return the metadata of a model by its name, for images of this shape."""
    if model.startswith(PREFIX):
        return _timm(model, shape)
    if model not in NAMES:
        return _plugin_metadata(model, shape)
    if model == "resnet18":
        return _sum(_resnet((64, 128, 256, 512), 2, shape))
    family = model.rstrip("0123456789")
    if family == "resnet":
        return _sum(_resnet((16, 32, 64), (int(model.removeprefix(family)) - 2) // 6, shape))
    if family == "vit_tiny":
        return _vit(shape)
    return _sum(FAMILIES[family](shape))


def declared_work(model: str) -> int | None:
    """Return the multiply-adds that a plug-in's file declares, or None; do not import the file."""
    files = [Path(folder) / f"{model}.py" for folder in MODEL.paths[1:]]
    file = next((file for file in files if file.exists()), None)
    if file is None:
        return None
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.Assign) and WORK in map(ast.unparse, node.targets):
            value = ast.unparse(node.value)
            if not value.isdecimal() or int(value) < 1:
                expected = "should be one whole number, at least 1"
                raise ValueError(f"'{file}': {WORK}: {quoted(value)}: {expected}")
            return int(value)
    return None


def _plugin_metadata(model: str, shape: Shape) -> ModelMetadata:
    facts = find_metadata(UNKNOWN, shape)
    try:
        work = declared_work(model)
    except (SyntaxError, ValueError):
        return facts  # `plan/preflight.py` reports the error.
    return replace(facts, multiply_adds=work or facts.multiply_adds)


def _sum(layers: Iterator[Layer]) -> ModelMetadata:
    found = list(layers)
    numbers = sum((layer.weights + layer.kept) * layer.channels for layer in found)
    multiply_adds = sum(layer.weights * layer.channels * layer.places for layer in found)
    activations = sum(layer.channels * layer.places for layer in found)
    return ModelMetadata(numbers, found[-1].channels, multiply_adds, activations)


def _resnet(widths: Sequence[int], num_blocks: int, shape: Shape) -> Iterator[Layer]:
    """Yield the convolutions of a ResNet with a 3x3 stem and as many stages as widths."""
    height, width, channels = shape
    yield Layer(9 * channels, widths[0], BATCH_NORM, height * width)
    for before, channels in pairwise((widths[0], *widths)):
        is_halved = channels != before
        if is_halved:
            height, width = -(-height // 2), -(-width // 2)
            yield Layer(before, channels, BATCH_NORM, height * width)  # projection in the shortcut
        yield Layer(9 * before, channels, BATCH_NORM, height * width)
        for _ in range(2 * num_blocks - 1):
            yield Layer(9 * channels, channels, BATCH_NORM, height * width)


def _vit(shape: Shape) -> ModelMetadata:
    height, width, channels = shape
    # Number of patches plus the class token.
    tokens = (height // VIT_PATCH) * (width // VIT_PATCH) + 1

    def layers() -> Iterator[Layer]:
        yield Layer(VIT_PATCH**2 * channels, VIT_WIDTH, BIAS, tokens - 1)
        for _ in range(VIT_BLOCKS):
            for inputs, outputs in ((1, 3), (1, 1), (1, 4), (4, 1)):
                yield Layer(inputs * VIT_WIDTH, outputs * VIT_WIDTH, BIAS, tokens)
            yield Layer(0, 2 * VIT_WIDTH, LAYER_NORM)
        yield Layer(0, VIT_WIDTH, LAYER_NORM)

    plain = _sum(layers())
    embeddings = (tokens + 1) * VIT_WIDTH  # position embeddings and the class token
    attention = 2 * VIT_BLOCKS * tokens**2 * VIT_WIDTH
    return replace(
        plain, numbers=plain.numbers + embeddings, multiply_adds=plain.multiply_adds + attention
    )


@dataclass(frozen=True)
class TimmMetadata:
    """Metadata of a timm model without its head, on images of its default size."""

    numbers: int  # number of weights and buffers
    features: int
    multiply_adds: int  # multiply-adds per image
    pixels: int  # height times width of the default image size
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
            numbers, features, work, pixels, is_sized = (int(value or 0) for value in values[:5])
            mean, std = (tuple(map(float, value.split())) for value in values[5:])
            facts = TimmMetadata(
                *(numbers, features, work, pixels, bool(is_sized)),
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


def _timm(model: str, shape: Shape) -> ModelMetadata:
    """Return a timm model's metadata, with multiply-adds scaled to the number of pixels."""
    own = find_timm_metadata(model)
    multiply_adds = max(1, own.multiply_adds * shape[0] * shape[1] // own.pixels)
    activations = multiply_adds // MULTIPLY_ADDS_PER_ACTIVATION
    return ModelMetadata(own.numbers, own.features, multiply_adds, activations)


def _small_cnn(shape: Shape) -> Iterator[Layer]:
    height, width, channels = shape
    for channels_in, out, step in ((channels, 32, 1), (32, 64, 2), (64, 128, 4)):
        yield Layer(9 * channels_in, out, BATCH_NORM, (height // step) * (width // step))


def _mnist_cnn(shape: Shape) -> Iterator[Layer]:
    height, width, channels = shape
    yield Layer(9 * channels, 16, BIAS, height * width)
    yield Layer(9 * 16, 32, BIAS, (height // 2) * (width // 2))
    yield Layer(32 * (height // 4) * (width // 4), 64, BIAS)


def _mlp(shape: Shape) -> Iterator[Layer]:
    yield Layer(prod(shape), 256, BIAS)


FAMILIES: dict[str, Callable[[Shape], Iterator[Layer]]] = {
    "mlp": _mlp,
    "mnist_cnn": _mnist_cnn,
    "small_cnn": _small_cnn,
}

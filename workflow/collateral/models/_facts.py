"""What models are like before they are built: weights, features, arithmetic. No torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import prod

from collateral.models import NAMES

Shape = tuple[int, int, int]  # H, W, C
BIAS, LAYER_NORM, BATCH_NORM = 1, 2, 4  # numbers kept for each channel
UNKNOWN = "resnet56"  # what a model of the user's own is taken for: a large one
VIT_BLOCKS, VIT_WIDTH, VIT_PATCH = 12, 192, 4


@dataclass(frozen=True)
class Layer:
    """A convolution or, at one place, a linear layer."""

    weights: int  # of one channel
    channels: int
    kept: int  # other numbers of a channel: bias, or what a norm keeps
    places: int = 1  # where it is computed


@dataclass(frozen=True)
class Facts:
    """A model without its head: numbers in its file, features, multiply-adds of an image."""

    numbers: int
    features: int
    multiply_adds: int

    def bytes(self, num_classes: int) -> int:
        """Return the size of its weights as float32, head and all."""
        return 4 * (self.numbers + (self.features + 1) * num_classes)


@cache
def facts_of(model: str, shape: Shape) -> Facts:
    """Return the facts of a model that a config may name, on images of a shape."""
    model = model if model in NAMES else UNKNOWN
    family = model.rstrip("0123456789")
    if family == "resnet":
        return _sum(_resnet(int(model.removeprefix(family)), shape))
    if family == "vit_tiny":
        return _vit(shape)
    return _sum(FAMILIES[family](shape))


def _sum(layers: Iterator[Layer]) -> Facts:
    found = list(layers)
    numbers = sum((layer.weights + layer.kept) * layer.channels for layer in found)
    multiply_adds = sum(layer.weights * layer.channels * layer.places for layer in found)
    return Facts(numbers, found[-1].channels, multiply_adds)


def _resnet(depth: int, shape: Shape) -> Iterator[Layer]:
    """Yield the convolutions of a ResNet-(6n+2)."""
    height, width, channels = shape
    yield Layer(9 * channels, 16, BATCH_NORM, height * width)
    for before, channels in pairwise((16, 16, 32, 64)):
        is_halved = channels != before
        if is_halved:
            height, width = -(-height // 2), -(-width // 2)
            yield Layer(before, channels, BATCH_NORM, height * width)  # of the shortcut
        yield Layer(9 * before, channels, BATCH_NORM, height * width)
        for _ in range((depth - 2) // 3 - 1):
            yield Layer(9 * channels, channels, BATCH_NORM, height * width)


def _vit(shape: Shape) -> Facts:
    height, width, channels = shape
    tokens = (height // VIT_PATCH) * (width // VIT_PATCH) + 1  # and the class token

    def layers() -> Iterator[Layer]:
        yield Layer(VIT_PATCH**2 * channels, VIT_WIDTH, BIAS, tokens - 1)
        for _ in range(VIT_BLOCKS):
            for inputs, outputs in ((1, 3), (1, 1), (1, 4), (4, 1)):
                yield Layer(inputs * VIT_WIDTH, outputs * VIT_WIDTH, BIAS, tokens)
            yield Layer(0, 2 * VIT_WIDTH, LAYER_NORM)
        yield Layer(0, VIT_WIDTH, LAYER_NORM)

    plain = _sum(layers())
    embeddings = (tokens + 1) * VIT_WIDTH  # of places, and the class token itself
    attention = 2 * VIT_BLOCKS * tokens**2 * VIT_WIDTH
    return Facts(plain.numbers + embeddings, VIT_WIDTH, plain.multiply_adds + attention)


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

"""How many images a second a model trains on, or looks at: measured ones, others scaled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from collateral.contract.plugins import MODEL
from collateral.contract.work import Work
from collateral.models._metadata import Shape, find_metadata

MEASURED_SHAPE = (32, 32, 3)  # of the images that shipped rates are for
FORWARD = 3.0  # looks at an image in the time of training on it, where that was not measured
MOST_ON_A_GPU = 50_000.0  # 200 steps of 256 images a second: small networks wait for their kernels


@dataclass(frozen=True)
class Rate:
    """Images a second of one model on images of one shape."""

    model: str
    shape: Shape
    training: Annotated[float, Field(gt=0)]
    looking: Annotated[float, Field(gt=0)]


@dataclass(frozen=True)
class Rates:
    """Images a second on one device."""

    device: str
    is_gpu: bool
    source: str
    measured: Annotated[tuple[Rate, ...], Field(min_length=1)]

    def seconds(self, work: Work, shape: Shape) -> float:
        """Return how long the work takes on images of this shape."""
        trained = sum(n / self.of(model, shape).training for model, n in work.trained.items())
        return trained + sum(n / self.of(model, shape).looking for model, n in work.seen.items())

    def of(self, model: str, shape: Shape) -> Rate:
        """Return the rate of a model: its own, else one in proportion to multiply-adds."""
        anchor = self.anchor(model, shape)
        if (anchor.model, anchor.shape) == (model, shape):
            return anchor
        ratio = _multiply_adds(anchor.model, anchor.shape) / _multiply_adds(model, shape)
        training, looking = ratio * anchor.training, ratio * anchor.looking
        if self.is_gpu:
            training = min(training, MOST_ON_A_GPU)
            looking = min(looking, FORWARD * MOST_ON_A_GPU)
        return Rate(model, shape, training, looking)

    def anchor(self, model: str, shape: Shape) -> Rate:
        """Return the measured rate that a model's is scaled from: the most similar one."""

        def difference(rate: Rate) -> tuple[bool, bool, float]:
            ratio = _multiply_adds(rate.model, rate.shape) / _multiply_adds(model, shape)
            is_akin = _family(rate.model) == _family(model)
            return rate.model != model, not is_akin, max(ratio, 1 / ratio)

        return min(self.measured, key=difference)

    def is_capped(self, rate: Rate) -> bool:
        """Tell whether arithmetic alone would allow for more."""
        return self.is_gpu and rate.training == MOST_ON_A_GPU

    def to_json(self) -> bytes:
        """Return what `read_rates` reads."""
        return TypeAdapter(Rates).dump_json(self, indent=2)


def read_rates(path: Path) -> Rates:
    """Read rates that a calibration saved."""
    try:
        rates = TypeAdapter(Rates).validate_json(path.read_bytes())
    except ValidationError:
        raise ValueError(f"--rates: {path}: not a file that --calibrate --save wrote") from None
    for rate in rates.measured:
        if not MODEL.has(rate.model):
            raise ValueError(f"--rates: {path}: {MODEL.no_such(rate.model)}")
    return rates


def _multiply_adds(model: str, shape: Shape) -> int:
    return find_metadata(model, shape).multiply_adds


@cache
def _family(model: str) -> str:
    return MODEL.module(model)


def _shipped(rates: Mapping[str, float]) -> tuple[Rate, ...]:
    return tuple(Rate(name, MEASURED_SHAPE, n, FORWARD * n) for name, n in rates.items())


A100 = Rates(
    "A100",
    is_gpu=True,
    source="implied by the paper's Retrain times",
    # 200 epochs of 49,750 images in 1,559 s, and 100 epochs of 70,928 in 2,115 s.
    measured=_shipped({"resnet56": 6_400.0, "vit_tiny": 3_350.0}),
)
CPU = Rates(
    "one CPU thread",
    is_gpu=False,
    source="measured on an AMD EPYC of 2.4 GHz, in float32, batches of 64 to 256",
    measured=_shipped(
        {
            "mlp": 19_000.0,
            "mnist_cnn": 4_000.0,
            "resnet8": 650.0,
            "resnet14": 340.0,
            "resnet20": 235.0,
            "resnet56": 80.0,
            "small_cnn": 750.0,
            "vit_tiny": 30.0,
        }
    ),
)
SHIPPED = {"a100": A100, "cpu": CPU}

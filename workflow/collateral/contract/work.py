"""Estimated amount of computation: numbers of images for training and inference, by model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

OWN = "own"  # stands for the name of the benchmark's model until `for_model` replaces it
# Cost of a per-example gradient divided by the cost per example of a batch gradient (bench_iu.py).
PER_SAMPLE = 2


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data and the model that determine the amount of computation of a method."""

    retain: int  # number of retained examples
    forget: int  # number of examples to forget
    classes: int  # number of classes
    pixels: int  # number of values per image: height x width x channels
    weights: int  # number of weights of the model

    @property
    def examples(self) -> int:
        """Number of retained and forgotten examples."""
        return self.retain + self.forget


@dataclass(frozen=True)
class Work:
    """Estimated amount of computation: each model's number of images for training and inference."""

    trained: Mapping[str, float]  # dict from model name to number of images for training
    seen: Mapping[str, float]  # dict from model name to number of images for inference

    def __add__(self, other: Work) -> Work:
        """Return the sum of two amounts of computation."""
        return Work(_sum(self.trained, other.trained), _sum(self.seen, other.seen))

    def __mul__(self, times: float) -> Work:
        """Return the amount of computation multiplied by a number."""
        trained = {model: times * images for model, images in self.trained.items()}
        return Work(trained, {model: times * images for model, images in self.seen.items()})

    def for_model(self, own: str) -> Work:
        """Return the same amounts, with the placeholder OWN replaced by the model name `own`."""
        trained, seen = (
            _sum(*({own if model == OWN else model: n} for model, n in part.items()))
            for part in (self.trained, self.seen)
        )
        return Work(trained, seen)

    @property
    def models(self) -> set[str]:
        """Names of the models that are trained or evaluated."""
        return {*self.trained, *self.seen}


NO_WORK = Work({}, {})


def training_work(images: float, model: str = OWN) -> Work:
    """Return the amount of computation of training on this number of images."""
    return Work({model: images}, {})


def inference_work(images: float, model: str = OWN) -> Work:
    """Return the amount of computation of a forward pass over this number of images."""
    return Work({}, {model: images})


def _sum(*parts: Mapping[str, float]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for model, images in part.items():
            total[model] = total.get(model, 0) + images
    return total


def count_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""Estimated amount of computation of a job: how many images models train on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

OWN = "own"  # stands for the name of the benchmark's model
FLOAT32 = "float32"  # precision of a job that does not state another one
FORWARD = 3.0  # cost of a training step divided by the cost of a forward pass
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
    """Estimated amount of computation: the number of images that each model trains on."""

    images: Mapping[str, float]  # dict from model name to number of training images

    def __add__(self, other: Work) -> Work:
        """Return the sum of two amounts of computation."""
        models = dict.fromkeys([*self.images, *other.images])
        return Work({one: self.images.get(one, 0) + other.images.get(one, 0) for one in models})

    def __mul__(self, times: float) -> Work:
        """Return the amount of computation multiplied by a number."""
        return Work({model: times * images for model, images in self.images.items()})


NO_WORK = Work({})


def training_work(images: float, model: str = OWN) -> Work:
    """Return the amount of computation of training on this number of images."""
    return Work({model: images})


def inference_work(images: float, model: str = OWN) -> Work:
    """Return the amount of computation of a forward pass over this number of images."""
    return training_work(images / FORWARD, model)


def count_cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

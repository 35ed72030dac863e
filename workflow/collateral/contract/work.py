"""How much a job computes: images by model, trained on or only looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from collateral.contract.batches import num_batches

OWN = "own"  # the benchmark's model, whatever it is
# A gradient of one example costs twice its share of a batch's (benchmarks/bench_iu.py).
PER_SAMPLE = 2


@dataclass(frozen=True)
class Sizes:
    """What the work of a method depends on besides its parameters."""

    retain: int  # examples
    forget: int
    classes: int
    pixels: int  # numbers of an image
    weights: int  # numbers of the model

    @property
    def examples(self) -> int:
        """Retained and forgotten examples together."""
        return self.retain + self.forget


@dataclass(frozen=True)
class Work:
    """Numbers of images by model: trained on (forward, backward, a step), or seen (forward)."""

    trained: Mapping[str, float]
    seen: Mapping[str, float]

    def __add__(self, other: Work) -> Work:
        """Return both."""
        return Work(_sum(self.trained, other.trained), _sum(self.seen, other.seen))

    def __mul__(self, times: float) -> Work:
        """Return this, so many times."""
        trained = {model: times * images for model, images in self.trained.items()}
        return Work(trained, {model: times * images for model, images in self.seen.items()})

    def of(self, own: str) -> Work:
        """Return the same with the benchmark's model by its name."""
        trained, seen = (
            _sum(*({own if model == OWN else model: n} for model, n in part.items()))
            for part in (self.trained, self.seen)
        )
        return Work(trained, seen)

    @property
    def models(self) -> set[str]:
        """The models that do something."""
        return {*self.trained, *self.seen}


NO_WORK = Work({}, {})


def training_work(images: float, model: str = OWN) -> Work:
    """Return the work of training on so many images."""
    return Work({model: images}, {})


def inference_work(images: float, model: str = OWN) -> Work:
    """Return the work of a forward pass over so many images."""
    return Work({}, {model: images})


def count_cycled_images(batches: int, examples: int, size: int) -> int:
    """Return how many images so many batches of repeated passes over some examples have."""
    # The batches after the last whole pass are of full size; of no examples, a share may be none.
    passes, rest = divmod(batches, max(1, num_batches(examples, size)))
    return passes * examples + rest * size


def _sum(*parts: Mapping[str, float]) -> dict[str, float]:
    total: dict[str, float] = {}
    for part in parts:
        for model, images in part.items():
            total[model] = total.get(model, 0) + images
    return total


def count_cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

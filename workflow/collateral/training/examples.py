"""Examples as uint8 images, batches by indexing, augmentation by batch.

Images are pages of the data set's file, which jobs share; a GPU has a copy where it fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from collateral.contract.batches import batch_sizes
from collateral.contract.data import ImageInfo
from collateral.results.dataset import Dataset

Batch = tuple[Tensor, Tensor]
VIEWED_AT_ONCE = 1024  # images


@dataclass(frozen=True)
class Images:
    """The images of a set, and how they may be augmented; padding is added batch by batch."""

    pixels: Tensor  # uint8 (N, H, W, C), on the device or, where they are too many, on the host
    padding: int
    flip: bool

    def taken(self, rows: Tensor) -> Tensor:
        """Return the bytes of some images, on the device that `rows` are on."""
        if self.pixels.device == rows.device:
            return self.pixels[rows]
        return moved(self.pixels[rows.cpu()], rows.device)

    def clean(self, rows: Tensor) -> Tensor:
        """Return the images as they are, in [0, 1], as (B, C, H, W) in channels_last order."""
        return _to_float(self.taken(rows))

    def augmented(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return a view of each image in [0, 1], as (B, C, H, W) in channels_last order."""
        return _to_float(self.views(rows, generator))

    def views(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return a random crop, randomly flipped, of each image: one copy of whole windows."""
        if not self.padding and not self.flip:
            return self.taken(rows)
        (height, width), count, p = self.pixels.shape[1:3], len(rows), self.padding
        offsets = torch.randint(2 * p + 1, (2, count), generator=generator)
        mirrored = torch.rand(count, generator=generator) < (0.5 if self.flip else 0.0)
        (top, left), mirrored = moved(offsets, rows.device), moved(mirrored, rows.device)
        padded = F.pad(self.taken(rows), (0, 0, p, p, p, p))
        # Every window of every image, as a view: (B, 2p + 1, 2p + 1, H, W, C).
        windows = padded.unfold(1, height, 1).unfold(2, width, 1).permute(0, 1, 2, 4, 5, 3)
        crops = windows[torch.arange(count, device=rows.device), top, left]
        return torch.where(mirrored[:, None, None, None], crops.flip(2), crops)


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the host on the device; the host does not wait for what a GPU is at."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def _to_float(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).float().div_(255)


@dataclass(frozen=True)
class Examples:
    """Some of the images with labels: a class index each, or a distribution over the classes."""

    images: Images
    rows: Tensor  # (n,), which images
    labels: Tensor  # (n,) int64, or (n, C) float

    def __len__(self) -> int:
        """Return how many examples there are."""
        return len(self.rows)

    def select(self, index: Tensor) -> Examples:
        """Return the examples at these positions."""
        return replace(self, rows=self.rows[index], labels=self.labels[index])

    def relabelled(self, labels: Tensor) -> Examples:
        """Return the same images with other labels."""
        return replace(self, labels=labels.to(self.rows.device))

    def joined(self, other: Examples) -> Examples:
        """Return these examples followed by `other`, which come from the same images."""
        assert other.images is self.images, "examples of different sets of images"
        rows, labels = torch.cat([self.rows, other.rows]), torch.cat([self.labels, other.labels])
        return replace(self, rows=rows, labels=labels)

    def pixels(self) -> Tensor:
        """Return all images as they are, in [0, 1]."""
        return self.images.clean(self.rows)

    def augmented(self, generator: torch.Generator) -> Tensor:
        """Return all images augmented, in [0, 1]."""
        return self.images.augmented(self.rows, generator)

    def viewed(self, generator: torch.Generator) -> Examples:
        """Return the examples with one augmented view of each as their images from now on."""
        # Some at a time: every window of an image is looked at, and a copy of them is padded.
        parts = [self.images.views(rows, generator) for rows in self.rows.split(VIEWED_AT_ONCE)]
        pixels = torch.cat(parts)
        rows = torch.arange(len(self), device=self.rows.device)
        return replace(self, images=Images(pixels, padding=0, flip=False), rows=rows)

    def batches(
        self, size: int, generator: torch.Generator, *, augment: bool = True
    ) -> Iterator[Batch]:
        """Yield shuffled batches, each example once; a small rest joins the batch before it."""
        order = moved(torch.randperm(len(self), generator=generator), self.rows.device)
        for index in order.split(batch_sizes(len(self), size)):
            rows = self.rows[index]
            images = self.images.augmented(rows, generator) if augment else self.images.clean(rows)
            yield images, self.labels[index]

    def in_order(self, size: int) -> Iterator[Batch]:
        """Yield clean batches in the given order."""
        for index in torch.arange(len(self), device=self.rows.device).split(size):
            yield self.images.clean(self.rows[index]), self.labels[index]

    def cycle(
        self, size: int, generator: torch.Generator, *, augment: bool = True
    ) -> Iterator[Batch]:
        """Yield shuffled batches without end."""
        assert len(self), "no examples to cycle over"
        while True:
            yield from self.batches(size, generator, augment=augment)


@dataclass(frozen=True)
class Task:
    """All that a method may see: what to forget, what to keep, and what the images are like."""

    retain: Examples
    forget: Examples
    info: ImageInfo

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return self.info.num_classes


def train_examples(data: Dataset, device: torch.device) -> Examples:
    """Put the train set on the device."""
    return _examples(data, data.train_images, data.labels.train, device)


def test_examples(data: Dataset, device: torch.device) -> Examples:
    """Put the test set on the device."""
    return _examples(data, data.test_images, data.labels.test, device)


def _examples(
    data: Dataset, images: NDArray[np.uint8], labels: NDArray[np.int64], device: torch.device
) -> Examples:
    pixels = torch.from_numpy(images)
    if fits(pixels.nbytes, device):
        pixels = pixels.to(device)
    return Examples(
        Images(pixels, data.padding, data.flip),
        rows=torch.arange(len(labels), device=device),
        labels=torch.from_numpy(labels).to(device),
    )


def fits(size: int, device: torch.device) -> bool:
    """Say whether so many bytes leave a GPU half of its free memory."""
    return device.type != "cuda" or size <= torch.cuda.mem_get_info(device)[0] / 2

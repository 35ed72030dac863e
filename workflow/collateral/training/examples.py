"""Examples are uint8 images in memory; a batch is selected by indices and augmented as a whole.

Images are mapped from the file of the data set, so that jobs share them; a GPU gets a copy if the
images fit into its memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from collateral.contract.conventions import batch_sizes
from collateral.contract.data import ImageInfo
from collateral.results.dataset import Dataset
from collateral.training.crops import centre_crop, random_size_crops

Batch = tuple[Tensor, Tensor]  # images (batch, channels, height, width) and their labels
Tensors = Mapping[str, Tensor]  # tensors by name, such as the result of a method's `prepare`
VIEWED_AT_ONCE = 1024  # number of images that are augmented at a time
WHITE = 255  # value of the pixels of a patch


@dataclass(frozen=True)
class Images:
    """Images of a data set and how to augment them; images are stored without padding."""

    pixels: Tensor  # uint8 (images, height, width, channels), on the GPU if they fit
    padding: int  # number of black pixels that are added at each side before a random crop
    flip: bool  # whether augmentation mirrors half of the images
    # Side of the images that a model is given, if they are stored larger: a random-size crop in
    # training, the centre in evaluation. 0: they are given as they are stored.
    crop: int = 0
    # Images with a white square at the bottom right (bool, one per image), and its side. The square
    # is drawn after augmentation, which would move it.
    patched: Tensor | None = None
    patch: int = 0

    def fetch(self, rows: Tensor) -> Tensor:
        """Return the images whose indices are in `rows`, as uint8, on the device of `rows`."""
        if self.pixels.device == rows.device:
            return self.pixels[rows]
        return move_to(self.pixels[rows.cpu()], rows.device)

    def clean(self, rows: Tensor) -> Tensor:
        """Return images without augmentation, with values in [0, 1], in channels_last order."""
        images = self.fetch(rows)
        return _to_float(self._patch(centre_crop(images, self.crop) if self.crop else images, rows))

    def augmented(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return augmented images, with values in [0, 1], in channels_last order."""
        return _to_float(self.views(rows, generator))

    def views(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """Return a random crop of each image, randomly flipped, as uint8."""
        return self._patch(self._augment(rows, generator), rows)

    def _augment(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        if self.crop:
            # Only the CPU scales uint8.
            stored = self.pixels[rows.to(self.pixels.device)].cpu()
            crops = move_to(random_size_crops(stored, self.crop, generator), rows.device)
            mirrored = torch.rand(len(rows), generator=generator) < (0.5 if self.flip else 0.0)
            return _mirror(crops, move_to(mirrored, rows.device))
        if not self.padding and not self.flip:
            return self.fetch(rows)
        (height, width), count, p = self.pixels.shape[1:3], len(rows), self.padding
        offsets = torch.randint(2 * p + 1, (2, count), generator=generator)
        mirrored = torch.rand(count, generator=generator) < (0.5 if self.flip else 0.0)
        (top, left), mirrored = move_to(offsets, rows.device), move_to(mirrored, rows.device)
        padded = F.pad(self.fetch(rows), (0, 0, p, p, p, p))
        # View (no copy) of all possible crops, (images, top, left, height, width, channels).
        windows = padded.unfold(1, height, 1).unfold(2, width, 1).permute(0, 1, 2, 4, 5, 3)
        crops = windows[torch.arange(count, device=rows.device), top, left]
        return _mirror(crops, mirrored)

    def _patch(self, images: Tensor, rows: Tensor) -> Tensor:
        """Draw the square on those of the images that have one; `images` may be changed."""
        if self.patched is None:
            return images
        has_patch = self.patched[rows.to(self.patched.device)].to(images.device)
        images = images.clone()
        corner = images[:, -self.patch :, -self.patch :]
        corner.masked_fill_(has_patch[:, None, None, None], WHITE)
        return images


def _mirror(images: Tensor, mirrored: Tensor) -> Tensor:
    """Mirror those images for which `mirrored` is true."""
    return torch.where(mirrored[:, None, None, None], images.flip(2), images)


def move_to(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor from the host to a device; on a GPU, do not wait until the copy is done."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def _to_float(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).float().div_(255)


@dataclass(frozen=True)
class Examples:
    """Images with labels, which are class indices or distributions over the classes."""

    images: Images
    rows: Tensor  # indices into the images
    labels: Tensor  # int64 class of each example, or float (examples, classes)

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.rows)

    def select(self, index: Tensor) -> Examples:
        """Return the examples at these positions of this set."""
        return replace(self, rows=self.rows[index], labels=self.labels[index])

    def relabelled(self, labels: Tensor) -> Examples:
        """Return the same images with other labels."""
        return replace(self, labels=labels.to(self.rows.device))

    def joined(self, other: Examples) -> Examples:
        """Return these examples followed by `other`; both must index the same array of images."""
        assert other.images is self.images, "examples of different sets of images"
        rows, labels = torch.cat([self.rows, other.rows]), torch.cat([self.labels, other.labels])
        return replace(self, rows=rows, labels=labels)

    def pixels(self) -> Tensor:
        """Return all images without augmentation, with values in [0, 1]; channels are axis 1."""
        return self.images.clean(self.rows)

    def augmented(self, generator: torch.Generator) -> Tensor:
        """Return all images augmented, with values in [0, 1]; channels are axis 1."""
        return self.images.augmented(self.rows, generator)

    def viewed(self, generator: torch.Generator) -> Examples:
        """Return the same examples with images that are augmented now, and not again in batches."""
        # Images are augmented in chunks, because augmentation needs a padded copy of them.
        parts = [self.images.views(rows, generator) for rows in self.rows.split(VIEWED_AT_ONCE)]
        pixels = torch.cat(parts)
        rows = torch.arange(len(self), device=self.rows.device)
        return replace(self, images=Images(pixels, padding=0, flip=False), rows=rows)

    def batches(
        self, size: int, generator: torch.Generator, *, augment: bool = True
    ) -> Iterator[Batch]:
        """Yield shuffled batches with each example once; a small remainder joins the last batch."""
        order = move_to(torch.randperm(len(self), generator=generator), self.rows.device)
        for index in order.split(batch_sizes(len(self), size)):
            rows = self.rows[index]
            images = self.images.augmented(rows, generator) if augment else self.images.clean(rows)
            yield images, self.labels[index]

    def in_order(self, size: int) -> Iterator[Batch]:
        """Yield batches in the order of the examples, without augmentation."""
        for index in torch.arange(len(self), device=self.rows.device).split(size):
            yield self.images.clean(self.rows[index]), self.labels[index]

    def cycle(
        self, size: int, generator: torch.Generator, *, augment: bool = True
    ) -> Iterator[Batch]:
        """Yield shuffled batches forever."""
        assert len(self), "no examples to cycle over"
        while True:
            yield from self.batches(size, generator, augment=augment)


@dataclass(frozen=True)
class Task:
    """All data that a method can use: the examples to retain and to forget, and image metadata."""

    retain: Examples
    forget: Examples
    info: ImageInfo
    # Memorisation of each forget example, (n_f,), if shadow models chose the forget set.
    memorised: Tensor | None = None

    @property
    def num_classes(self) -> int:
        """Number of classes."""
        return self.info.num_classes


def train_examples(data: Dataset, device: torch.device) -> Examples:
    """Return the train set, with its images on the device if they fit into the device's memory."""
    found = _examples(data, data.train_images, data.labels.train, device)
    if data.patched is None:
        return found
    patched = torch.from_numpy(data.patched)
    return replace(found, images=replace(found.images, patched=patched, patch=data.patch))


def test_examples(data: Dataset, device: torch.device) -> Examples:
    """Return the test set, with its images on the device if they fit into the device's memory."""
    return _examples(data, data.test_images, data.labels.test, device)


def _examples(
    data: Dataset, images: NDArray[np.uint8], labels: NDArray[np.int64], device: torch.device
) -> Examples:
    pixels = torch.from_numpy(images)
    if fits(pixels.nbytes, device):
        pixels = pixels.to(device)
    return Examples(
        Images(pixels, data.padding, data.flip, data.crop),
        rows=torch.arange(len(labels), device=device),
        labels=torch.from_numpy(labels).to(device),
    )


def fits(size: int, device: torch.device) -> bool:
    """Return whether data of this size fit into half of a GPU's free memory; true on a CPU."""
    return device.type != "cuda" or size <= torch.cuda.mem_get_info(device)[0] / 2

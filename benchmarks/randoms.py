"""Random images in the shape of CIFAR-100, for benchmarks that do not depend on the content."""

import torch
from plain.images import PlainImages
from torch import Tensor

from collateral.contract.data import ImageInfo
from collateral.training.examples import Examples, Images

INFO = ImageInfo(num_classes=100, shape=(32, 32, 3), mean=(0.5,) * 3, std=(0.25,) * 3)
PADDING = 4
BATCH_SIZE = 128


def random_pixels(count: int) -> Tensor:
    """Draw random images."""
    return torch.randint(256, (count, *INFO.shape), dtype=torch.uint8)


def random_examples(count: int) -> Examples:
    """Draw random images and labels."""
    labels = torch.randint(INFO.num_classes, (count,))
    images = Images(random_pixels(count), PADDING, flip=True)
    return Examples(images, torch.arange(count), labels)


def plain_images(examples: Examples) -> PlainImages:
    """Return the same images in the form of the plain flow."""
    pixels = examples.images.pixels.numpy()
    return PlainImages(pixels, examples.labels.tolist(), PADDING, flip=True)

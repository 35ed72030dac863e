"""Random-size crops, as in training on ImageNet: a random part of an image, scaled to one size.

Inception's crop, with the numbers of torchvision's `RandomResizedCrop`: 8 to 100 % of the area,
ratios of width to height from 3/4 to 4/3. If none of ten tries fits the image, it is the centre.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

AREAS = (0.08, 1.0)  # smallest and largest share of the image's area
RATIOS = (3 / 4, 4 / 3)  # smallest and largest ratio of width to height
TRIES = 10


def random_size_crops(images: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Return a random part of each image, scaled to `size`; uint8, on the host, channels last."""
    boxes = draw_boxes(len(images), *images.shape[1:3], generator=generator)
    views = images.new_empty((len(images), size, size, images.shape[3]))
    # One call per image: uint8 is the fast path of the CPU, and parts differ in size.
    for view, image, (top, left, height, width) in zip(views, images, boxes.tolist(), strict=True):
        part = image[top : top + height, left : left + width].permute(2, 0, 1)[None]
        scaled = F.interpolate(part, (size, size), mode="bilinear", antialias=True)
        view.copy_(scaled[0].permute(1, 2, 0))
    return views


def draw_boxes(count: int, height: int, width: int, *, generator: torch.Generator) -> Tensor:
    """Return top, left, height and width of a random part of each image, (count, 4)."""
    share, ratio, top, left = (
        torch.rand((count, n), generator=generator, dtype=torch.float64)
        for n in (TRIES, TRIES, 1, 1)
    )
    area = height * width * (AREAS[0] + (AREAS[1] - AREAS[0]) * share)
    low, high = map(math.log, RATIOS)
    ratio = torch.exp(low + (high - low) * ratio)
    widths, heights = torch.sqrt(area * ratio).round(), torch.sqrt(area / ratio).round()
    fits = (widths <= width) & (heights <= height) & (widths > 0) & (heights > 0)
    first = fits.int().argmax(1, keepdim=True)
    own_height, own_width = (sides.gather(1, first) for sides in (heights, widths))
    tops = torch.floor(top * (height - own_height + 1))
    lefts = torch.floor(left * (width - own_width + 1))
    boxes = torch.cat([tops, lefts, own_height, own_width], dim=1)
    return torch.where(fits.any(1, keepdim=True), boxes, _centre_box(height, width)).long()


def _centre_box(height: int, width: int) -> Tensor:
    """Return the largest part in the centre of an image with a ratio within RATIOS, (1, 4)."""
    own_height, own_width = height, width
    if width / height < RATIOS[0]:
        own_height = round(width / RATIOS[0])
    elif width / height > RATIOS[1]:
        own_width = round(height * RATIOS[1])
    top, left = (height - own_height) // 2, (width - own_width) // 2
    return torch.tensor([[top, left, own_height, own_width]], dtype=torch.float64)


def centre_crop(images: Tensor, size: int) -> Tensor:
    """Return the centre of each image, without scaling; channels last."""
    top, left = (round((side - size) / 2) for side in images.shape[1:3])
    return images[:, top : top + size, left : left + size]

"""From pixel values to images, and their mean and standard deviation."""

import numpy as np
from numpy.typing import NDArray


def to_uint8(images: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Return images in [0, 1] as the nearest of 0 to 255."""
    return np.rint(images.astype(np.float32) * 255).astype(np.uint8)


def statistics(images: NDArray[np.uint8]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation per channel of images (N, H, W, C), scaled to [0, 1]."""
    count = images[..., 0].size
    # Integer sums are exact, and need no copy of the images in float64.
    total = images.sum(axis=(0, 1, 2), dtype=np.int64)
    squares = np.square(images, dtype=np.uint16).sum(axis=(0, 1, 2), dtype=np.int64)
    mean = total / count
    std = np.sqrt(squares / count - mean**2) / 255
    # A constant channel has nothing to scale; 1 keeps it finite.
    return tuple((mean / 255).tolist()), tuple(float(value) or 1.0 for value in std)

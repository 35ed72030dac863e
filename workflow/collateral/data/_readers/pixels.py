"""Operations on images: convert to uint8, compute mean and standard deviation."""

import numpy as np
from numpy.typing import NDArray

SQUARED_AT_ONCE = 16  # number of images that are squared at a time, which takes twice their size


def to_uint8(images: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Scale images from [0, 1] to the nearest integers from 0 to 255."""
    return np.rint(images.astype(np.float32) * 255).astype(np.uint8)


def statistics(images: NDArray[np.uint8]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of each channel (last axis), scaled to [0, 1]."""
    sums = ChannelSums()
    sums.add(images)
    return sums.statistics()


class ChannelSums:
    """Sums of the values of each channel, and of their squares, to which images are added."""

    def __init__(self) -> None:
        """Start with no images."""
        self._count = 0
        self._total: NDArray[np.int64] | int = 0
        self._squares: NDArray[np.int64] | int = 0

    def add(self, images: NDArray[np.uint8]) -> None:
        """Add images with channels in the last axis."""
        # Integer sums are exact, so they are the same however the images are divided.
        for start in range(0, len(images), SQUARED_AT_ONCE):
            part = images[start : start + SQUARED_AT_ONCE]
            self._count += part[..., 0].size
            self._total += part.sum(axis=(0, 1, 2), dtype=np.int64)
            squares = np.square(part, dtype=np.uint16)
            self._squares += squares.sum(axis=(0, 1, 2), dtype=np.int64)

    def statistics(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return mean and standard deviation of each channel, scaled to [0, 1]."""
        mean = np.asarray(self._total) / self._count
        std = np.sqrt(self._squares / self._count - mean**2) / 255
        # A constant channel gets standard deviation 1 to avoid division by zero.
        return tuple((mean / 255).tolist()), tuple(float(value) or 1.0 for value in std)

"""Operations on images: split into train and test set, convert to uint8, compute mean and std."""

import numpy as np
from numpy.typing import NDArray


def split(
    images: NDArray[np.uint8], is_test: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the train and the test images; do not copy them if the test images come last."""
    num_train = int((~is_test).sum())
    if is_test[num_train:].all():
        return images[:num_train], images[num_train:]
    return images[~is_test], images[is_test]


def to_uint8(images: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Scale images from [0, 1] to the nearest integers from 0 to 255."""
    return np.rint(images.astype(np.float32) * 255).astype(np.uint8)


def statistics(images: NDArray[np.uint8]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of each channel (last axis), scaled to [0, 1]."""
    count = images[..., 0].size
    # Integer sums are exact and need no float64 copy of the images.
    total = images.sum(axis=(0, 1, 2), dtype=np.int64)
    squares = np.square(images, dtype=np.uint16).sum(axis=(0, 1, 2), dtype=np.int64)
    mean = total / count
    std = np.sqrt(squares / count - mean**2) / 255
    # A constant channel gets standard deviation 1 to avoid division by zero.
    return tuple((mean / 255).tolist()), tuple(float(value) or 1.0 for value in std)

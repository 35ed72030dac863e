"""Range of pixel values, images without content, and distances from the mean image of a class."""

import numpy as np

from collateral.metrics.arrays import Floats, Ints
from collateral.metrics.copies import Images, chunk_length, in_chunks


def summarize_pixels(*parts: Images) -> Ints:
    """Return the smallest and the largest value of all images, and the number of constant images.

    All pixels of a constant image have the same value; this is compared channel by channel.
    """
    lows, highs, num_constant = list[int](), list[int](), 0
    for images in parts:
        for chunk in in_chunks(images):
            low, high = chunk.min(axis=(1, 2)), chunk.max(axis=(1, 2))  # (chunk, channels)
            lows.append(int(low.min()))
            highs.append(int(high.max()))
            num_constant += int((low == high).all(axis=1).sum())
    return np.array([min(lows), max(highs), num_constant], dtype=np.int64)


def distance_from_class_mean(images: Images, label: Ints) -> Floats:
    """Return each image's Euclidean distance from the mean image of its class, pixels in [0, 1]."""
    distance, count = np.full(len(images), np.nan), chunk_length(images)
    for c in np.unique(label):
        members = np.flatnonzero(label == c)
        chunks = [members[start : start + count] for start in range(0, len(members), count)]
        total = sum(images[chunk].sum(axis=0, dtype=np.int64) for chunk in chunks)
        mean = total / len(members)
        for chunk in chunks:
            squares = (images[chunk] - mean) ** 2
            distance[chunk] = np.sqrt(squares.sum(axis=(1, 2, 3))) / 255
    return distance

"""Range of the pixel values of a data set, and images without content."""

import numpy as np

from collateral.metrics.arrays import Ints
from collateral.metrics.copies import Images, in_chunks


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

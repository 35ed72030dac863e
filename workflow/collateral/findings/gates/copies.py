"""Images that are in the forget and in the retain set: equal ones, and ones that look alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collateral.findings._shared.likeness import LEAST_SIDE, MOST_BITS

FREQUENCIES = 8  # of a cosine transform along each side
EXACT = -1  # in place of a number of bits
CHUNK = 2048

Images = NDArray[np.uint8]  # (N, H, W, C)
Index = NDArray[np.int64]


def copies(images: Images, forget: Index, retain: Index) -> NDArray[np.int64]:
    """Return rows of a forgotten image, a retained copy of it, and the bits between them.

    Every exact copy has a row, of near ones the nearest; a forgotten image without one has none.
    """
    exact = _equal(images, forget, retain)
    others = np.setdiff1d(forget, exact[:, 0])
    if not len(retain) or min(images.shape[1:3]) < LEAST_SIDE:
        return exact
    near = _alike(perceptual_hashes(images), others, retain)
    return np.concatenate([exact, near])


def are_copies(images: Images, originals: Images) -> NDArray[np.bool_]:
    """Tell which images are equal to, or look like, one of the originals."""
    known = {original.tobytes() for original in originals}
    is_equal = np.array([image.tobytes() in known for image in images], dtype=bool)
    if not len(images) or min(images.shape[1:3]) < LEAST_SIDE:
        return is_equal
    bits = np.bitwise_count(perceptual_hashes(images)[:, None] ^ perceptual_hashes(originals))
    is_like: NDArray[np.bool_] = bits.min(axis=1) <= MOST_BITS
    return is_equal | is_like


def _equal(images: Images, forget: Index, retain: Index) -> NDArray[np.int64]:
    """Find retained images that are forgotten ones byte by byte."""
    places: dict[bytes, list[int]] = {}
    for j in retain.tolist():
        places.setdefault(images[j].tobytes(), []).append(j)
    rows = []
    for i in forget.tolist():
        same = places.get(images[i].tobytes(), [])
        rows += [(i, j, EXACT) for j in same]
        del same[1:]  # listed once: of many black images the pairs would be millions
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _alike(hashes: NDArray[np.uint64], forget: Index, retain: Index) -> NDArray[np.int64]:
    """Find for each forgotten image the retained one with the nearest hash, if it is near."""
    rows, retained = [], hashes[retain]
    for i in forget.tolist():
        bits = np.bitwise_count(retained ^ hashes[i])
        j = int(bits.argmin())
        if bits[j] <= MOST_BITS:
            rows.append((i, int(retain[j]), int(bits[j])))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def perceptual_hashes(images: Images) -> NDArray[np.uint64]:
    """Return 63 bits an image: which low frequencies of its grey values are above their median."""
    parts = [images[i : i + CHUNK] for i in range(0, len(images), CHUNK)]
    return np.concatenate([_hashes(part) for part in parts])


def _hashes(images: Images) -> NDArray[np.uint64]:
    grey = images.mean(axis=3, dtype=np.float32)
    rows, columns = (_cosines(side) for side in grey.shape[1:])
    waves = (rows @ grey @ columns.T).reshape(len(images), -1)[:, 1:]  # without the mean
    is_above = waves > np.median(waves, axis=1, keepdims=True)
    powers = np.uint64(1) << np.arange(is_above.shape[1], dtype=np.uint64)
    hashes: NDArray[np.uint64] = (is_above * powers).sum(axis=1, dtype=np.uint64)
    return hashes


def _cosines(side: int) -> NDArray[np.float32]:
    """Return the waves of the lowest frequencies, (FREQUENCIES, side)."""
    place = (np.arange(side) + 0.5) / side
    return np.cos(np.pi * np.outer(np.arange(FREQUENCIES), place)).astype(np.float32)

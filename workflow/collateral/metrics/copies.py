"""Exact and near-duplicate copies of forgotten images, and exact copies of train images."""

import hashlib
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from collateral.metrics.arrays import Ints, Mask, Singles

LEAST_SIDE = 32  # minimum image side in pixels for hashing; hashes of smaller images are too alike
MOST_BITS = 4  # largest number of differing bits (of 63) between hashes of near copies
FREQUENCIES = 8  # number of frequencies of the cosine transform along each side of an image
EXACT = -1  # marks an exact copy, in place of the number of differing bits
DIGEST_BYTES = 16  # size of the hash by which equal images are found
CHUNK_BYTES = 2**25  # bytes of the images that are hashed at a time

Images = NDArray[np.uint8]  # (N, H, W, C)


def find_copies(images: Images, forget: Ints, retain: Ints) -> Ints:
    """Find copies; return rows (forgotten image, retained image, number of differing hash bits).

    Exact copies have EXACT instead of the number of bits. If forgotten images are equal, only the
    first one has a row for each of its exact copies; the others have one row. A forgotten image
    without an exact copy has one row for its nearest near copy, or no row.
    """
    exact = _find_exact(images, forget, retain)
    others = np.setdiff1d(forget, exact[:, 0])
    if not len(retain) or min(images.shape[1:3]) < LEAST_SIDE:
        return exact
    near = _find_near(perceptual_hashes(images), others, retain)
    return np.concatenate([exact, near])


def find_test_copies(train: Images, test: Images, forget: Ints) -> Ints:
    """Find test images that are equal to a train image; return rows (test image, train image).

    Each such test image has one row, with a forgotten image if one of its copies is forgotten.
    """
    places: dict[bytes, int] = {}
    others = np.setdiff1d(np.arange(len(train)), forget)
    for j in (*forget.tolist(), *others.tolist()):
        places.setdefault(_digest(train[j]), j)
    digests = [_digest(image) for image in test]
    rows = [(i, places[one]) for i, one in enumerate(digests) if one in places]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _digest(image: Images) -> bytes:
    """Return a hash of an image, so that not all images of a data set are in memory."""
    return hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=DIGEST_BYTES).digest()


def are_copies(images: Images, originals: Images) -> Mask:
    """Return a mask of the images that are an exact or a near copy of one of the originals."""
    known = {_digest(original) for original in originals}
    is_equal = np.array([_digest(image) in known for image in images], dtype=bool)
    if not len(images) or min(images.shape[1:3]) < LEAST_SIDE:
        return is_equal
    bits = np.bitwise_count(perceptual_hashes(images)[:, None] ^ perceptual_hashes(originals))
    return is_equal | (bits.min(axis=1) <= MOST_BITS)


def _find_exact(images: Images, forget: Ints, retain: Ints) -> Ints:
    """Find the retained images that are equal to a forgotten image, byte by byte."""
    places: dict[bytes, list[int]] = {}  # retained images by their hash
    for j in retain.tolist():
        places.setdefault(_digest(images[j]), []).append(j)
    rows = []
    for i in forget.tolist():
        same = places.get(_digest(images[i]), [])
        rows += [(i, j, EXACT) for j in same]
        # Each further forgotten image that equals this one gets only the first of these copies.
        # Otherwise, many equal images (such as black ones) would give millions of pairs.
        del same[1:]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _find_near(hashes: NDArray[np.uint64], forget: Ints, retain: Ints) -> Ints:
    """Find each forgotten image's nearest retained image by hash, if only few bits differ."""
    rows, retained = [], hashes[retain]
    for i in forget.tolist():
        bits = np.bitwise_count(retained ^ hashes[i])
        j = int(bits.argmin())
        if bits[j] <= MOST_BITS:
            rows.append((i, int(retain[j]), int(bits[j])))
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def perceptual_hashes(images: Images) -> NDArray[np.uint64]:
    """Return 63 bits per image: which of its low-frequency coefficients are above their median."""
    return np.concatenate([_hash_images(part) for part in in_chunks(images)])


def in_chunks(images: Images) -> Iterator[Images]:
    """Yield the images in views of at most CHUNK_BYTES, at least one image each."""
    count = chunk_length(images)
    for start in range(0, len(images), count):
        yield images[start : start + count]


def chunk_length(images: Images) -> int:
    """Return the number of images in CHUNK_BYTES, at least one."""
    return max(1, CHUNK_BYTES // max(1, math.prod(images.shape[1:])))


def _hash_images(images: Images) -> NDArray[np.uint64]:
    grey = images.mean(axis=3, dtype=np.float32)
    rows, columns = (_cosine_waves(side) for side in grey.shape[1:])
    # The first coefficient is left out, because it measures only the mean grey value.
    waves = (rows @ grey @ columns.T).reshape(len(images), -1)[:, 1:]
    is_above = waves > np.median(waves, axis=1, keepdims=True)
    powers = np.uint64(1) << np.arange(is_above.shape[1], dtype=np.uint64)
    return (is_above * powers).sum(axis=1, dtype=np.uint64)


def _cosine_waves(side: int) -> Singles:
    """Return the cosine waves of the lowest frequencies, (FREQUENCIES, side)."""
    place = (np.arange(side) + 0.5) / side
    return np.cos(np.pi * np.outer(np.arange(FREQUENCIES), place)).astype(np.float32)

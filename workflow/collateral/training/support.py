"""Which retained examples are near the forget set in the base model's features."""

from collections.abc import Iterator

import torch
from torch import Tensor

CHUNK_ENTRIES = 2**24  # similarities held at once: 64 MB of float32, however many keys there are


def similarity(features: Tensor, forget: Tensor) -> Tensor:
    """Return each row's cosine with the sum of the rows of `forget`, as they are; 0 for zeros."""
    direction = forget.sum(0, dtype=torch.float64)
    direction = (direction / _length(direction)).to(features.dtype)
    return (features @ direction / _length(features)).clamp(-1, 1)


def select(scores: Tensor, size: int, which: str, generator: torch.Generator) -> Tensor:
    """Return `size` places, ascending: the `closest` by score, the `farthest`, or `random` ones."""
    size = min(size, len(scores))
    if which == "random":
        chosen = torch.randperm(len(scores), generator=generator)[:size]
    else:
        # Unsorted, topk is a selection in linear time.
        chosen = scores.topk(size, largest=which == "closest", sorted=False).indices
    return chosen.sort().values


def nearest(queries: Tensor, keys: Tensor, k: int) -> Iterator[Tensor]:
    """Yield, for some queries at a time, the places (q, k) of their k nearest keys by cosine.

    Exact; the more keys there are, the fewer queries at a time, so that memory stays the same.
    """
    lengths = _length(keys)
    k = min(k, len(keys))
    for some in queries.split(max(1, CHUNK_ENTRIES // len(keys))):
        # A query's own length does not change which keys are nearest.
        scores = (some @ keys.T).div_(lengths)
        yield scores.topk(k, dim=1, sorted=False).indices


def _length(vectors: Tensor) -> Tensor:
    """Return the norm of each vector; 1 for zeros, whose cosine is then 0."""
    length = vectors.norm(dim=-1)
    return torch.where(length == 0, torch.ones_like(length), length)

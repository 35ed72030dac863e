"""Which retained examples are near the forget set in the base model's features."""

import math
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

# Similarities held at once: 64 MB of float32, however many keys there are.
CHUNK_ENTRIES = 2**24
CHUNK_KEYS = 2**18

# From m to the places (q, m) of the m nearest keys of each centre, nearest first, for some centres
# at a time; -1 where a search has found fewer.
Search = Callable[[int], Iterable[Tensor]]


def similarity(features: Tensor, forget: Tensor) -> Tensor:
    """Return each row's cosine with the sum of the rows of `forget`, as they are; 0 for zeros."""
    direction = forget.sum(0, dtype=torch.float64)
    direction = (direction / _length(direction)).to(features.dtype)
    return (features @ direction / _length(features)).clamp(-1, 1)


def similarity_to_nearest(features: Tensor, centres: Tensor) -> Tensor:
    """Return each row's cosine with the centre that is nearest to it; 0 for zeros."""
    units = centres / _length(centres)[:, None]
    chunks = features.split(max(1, CHUNK_ENTRIES // len(units)))
    nearest_ones = torch.cat([(some @ units.T).amax(1) for some in chunks])
    return (nearest_ones / _length(features)).clamp(-1, 1)


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

    Exact, the nearest first. So many queries and keys at a time that memory stays the same.
    """
    lengths = _length(keys)
    k = min(k, len(keys))
    for some in queries.split(max(1, CHUNK_ENTRIES // max(min(len(keys), CHUNK_KEYS), k))):
        best, places = some.new_empty(len(some), 0), torch.empty(len(some), 0, dtype=torch.int64)
        for first in range(0, len(keys), CHUNK_KEYS):
            part = slice(first, first + CHUNK_KEYS)
            # A query's own length does not change which keys are nearest.
            scores = (some @ keys[part].T).div_(lengths[part])
            found = scores.topk(min(k, scores.shape[1]), dim=1, sorted=False)
            del scores
            best = torch.cat([best, found.values], 1)
            places = torch.cat([places, found.indices + first], 1)
            if first:
                kept = best.topk(min(k, best.shape[1]), dim=1, sorted=False).indices
                best, places = best.gather(1, kept), places.gather(1, kept)
        yield places.gather(1, best.argsort(dim=1, descending=True, stable=True))


def depths(search: Search, shares: Tensor, most: int, num_keys: int) -> Tensor:
    """Return the size that a support must have for each key to be in it.

    A centre has a share in the support: of its neighbours, the m-th is in a support of size
    m / share. A key takes the least that its centres ask for; infinite where none has found it
    among its `most` nearest. So sizes are known up to most / max(shares).
    """
    depth = torch.full((num_keys,), torch.inf, dtype=torch.float64)
    first = 0
    for places in search(min(most, num_keys)):
        ranks = torch.arange(1, places.shape[1] + 1, dtype=torch.float64)
        asked = ranks / shares[first : first + len(places), None]  # (q, m)
        is_found = places >= 0
        depth.scatter_reduce_(0, places[is_found], asked[is_found], "amin")
        first += len(places)
    return depth


def depths_of(search: Search, shares: Tensor, size: int, num_keys: int) -> Tensor:
    """Return depths that are known for at least `size` keys, if so many can be found."""
    largest = shares.max().item()
    # Twice its share for each, because some neighbours are those of several centres.
    most = math.ceil(2 * size * largest)
    while True:
        depth = depths(search, shares, most, num_keys)
        if (depth <= most / largest).sum() >= size or most >= num_keys:
            return depth
        most *= 2


def first_ones(depth: Tensor, scores: Tensor, size: int) -> Tensor:
    """Return the `size` places of the least depth, ascending; of equals the more similar."""
    found = depth.isfinite().nonzero().squeeze(1)
    order = found[scores[found].argsort(descending=True, stable=True)]
    order = order[depth[order].argsort(stable=True)]
    return order[:size].sort().values


def _length(vectors: Tensor) -> Tensor:
    """Return the norm of each vector; 1 for zeros, whose cosine is then 0."""
    length = vectors.norm(dim=-1)
    return torch.where(length == 0, torch.ones_like(length), length)

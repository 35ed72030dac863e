"""Nearest neighbours of the forget set in the feature space of the base model, by cosine."""

import math
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

# Number of similarities in memory at a time; they take 64 MB as float32.
CHUNK_ENTRIES = 2**24
CHUNK_KEYS = 2**18  # number of keys that are compared with the queries at a time

# Function that yields, given m, the indices of the m keys nearest to each centre (row).
# An index of -1 means that fewer than m keys were found.
Search = Callable[[int], Iterable[Tensor]]


def similarity(features: Tensor, forget: Tensor) -> Tensor:
    """Return each row's cosine with the sum of the rows of `forget`; 0 for zero vectors."""
    direction = forget.sum(0, dtype=torch.float64)
    direction = (direction / _length(direction)).to(features.dtype)
    return (features @ direction / _length(features)).clamp(-1, 1)


def similarity_to_nearest(features: Tensor, centres: Tensor) -> Tensor:
    """Return each feature vector's cosine with its nearest centre; 0 for zero vectors."""
    units = centres / _length(centres)[:, None]
    chunks = features.split(max(1, CHUNK_ENTRIES // len(units)))
    nearest_ones = torch.cat([(some @ units.T).amax(1) for some in chunks])
    return (nearest_ones / _length(features)).clamp(-1, 1)


def select(scores: Tensor, size: int, which: str, generator: torch.Generator) -> Tensor:
    """Return sorted indices of `size` scores: the highest ("closest"), lowest, or random ones."""
    size = min(size, len(scores))
    if which == "random":
        chosen = torch.randperm(len(scores), generator=generator)[:size]
    else:
        # topk without sorting takes linear time.
        chosen = scores.topk(size, largest=which == "closest", sorted=False).indices
    return chosen.sort().values


def nearest(queries: Tensor, keys: Tensor, k: int) -> Iterator[Tensor]:
    """Yield, for chunks of queries, the indices of the k keys nearest to each query by cosine.

    The search is exact, and the nearest key comes first. Chunks of queries and of keys bound the
    memory.
    """
    lengths = _length(keys)
    k = min(k, len(keys))
    for some in queries.split(max(1, CHUNK_ENTRIES // max(min(len(keys), CHUNK_KEYS), k))):
        best, places = some.new_empty(len(some), 0), torch.empty(len(some), 0, dtype=torch.int64)
        for first in range(0, len(keys), CHUNK_KEYS):
            part = slice(first, first + CHUNK_KEYS)
            # The norm of a query does not change the order of its keys.
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
    """Return, for each key, the size of the smallest support that contains the key.

    `shares` contains the fraction of the support that each centre adds: the m-th neighbour of a
    centre enters at the support size m / share. A key that is a neighbour of several centres enters
    at the smallest of these sizes. Its size is infinite if it is not among the `most` nearest keys
    of any centre. Sizes up to most / max(shares) are exact.
    """
    depth = torch.full((num_keys,), torch.inf, dtype=torch.float64)
    first = 0
    for places in search(min(most, num_keys)):
        ranks = torch.arange(1, places.shape[1] + 1, dtype=torch.float64)
        # Size of the smallest support that contains each neighbour, (centres, neighbours).
        sizes = ranks / shares[first : first + len(places), None]
        is_found = places >= 0
        depth.scatter_reduce_(0, places[is_found], sizes[is_found], "amin")
        first += len(places)
    return depth


def find_depths(search: Search, shares: Tensor, size: int, num_keys: int) -> Tensor:
    """Return the result of `depths` with enough neighbours that the `size` smallest are exact."""
    largest = shares.max().item()
    # Several centres may have the same nearest keys, which count once. So the first search is
    # for twice as many keys as the largest centre contributes.
    most = math.ceil(2 * size * largest)
    while True:
        depth = depths(search, shares, most, num_keys)
        if (depth <= most / largest).sum() >= size or most >= num_keys:
            return depth
        most *= 2


def select_shallowest(depth: Tensor, scores: Tensor, size: int) -> Tensor:
    """Return sorted indices of `size` keys with the smallest `depth`; higher scores break ties."""
    found = depth.isfinite().nonzero().squeeze(1)
    order = found[scores[found].argsort(descending=True, stable=True)]
    order = order[depth[order].argsort(stable=True)]
    return order[:size].sort().values


def _length(vectors: Tensor) -> Tensor:
    """Return the norm of each vector, but 1 for a zero vector, so that its cosine becomes 0."""
    length = vectors.norm(dim=-1)
    return torch.where(length == 0, torch.ones_like(length), length)

"""Supports around several centres: every forget example, or clusters of forget examples."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from collateral.methods._shared.nearest import (
    Search,
    depths,
    find_depths,
    nearest,
    select_shallowest,
    similarity,
    similarity_to_nearest,
)


@dataclass(frozen=True)
class Centres:
    """Centres in feature space, and the centre of each forget example."""

    directions: Tensor  # (c, D), directions of the c centres
    cluster: Tensor  # (n_f,), index of the centre of each of the n_f forget examples

    @property
    def shares(self) -> Tensor:
        """Fraction of the forget set that belongs to each centre."""
        return self.cluster.bincount().double() / len(self.cluster)


def use_every_example(forget: Tensor) -> Centres:
    """Return every forget example as a centre of its own."""
    return Centres(forget, torch.arange(len(forget)))


def sum_clusters(forget: Tensor, cluster: Tensor) -> Centres:
    """Return one centre per cluster: the sum of its features."""
    groups = [forget[cluster == c] for c in range(int(cluster.max()) + 1)]
    sums = torch.stack([group.sum(0, dtype=torch.float64) for group in groups])
    return Centres(sums.to(forget.dtype), cluster)


@dataclass(frozen=True)
class Support:
    """The support as sorted indices of retained examples, and the similarity of every one."""

    support: Tensor
    # (n,), cosine of each of the n retained examples with its nearest centre; NaN if not computed.
    similarity: Tensor
    # Function from the index of a centre to the mask of its neighbours within the support; None if
    # the mean of the forget set is the only centre.
    is_near: Callable[[int], Tensor] | None = None


@dataclass(frozen=True)
class Neighbourhood:
    """Retained examples, searchable by their similarity to several centres."""

    retain: Tensor  # (n, D), features of the n retained examples
    centres: Centres
    search: Search
    # (n,), cosine of each retained example with its nearest centre; None for approximate search.
    scores: Tensor | None

    def with_size(self, size: int) -> Support:
        """Return `size` examples, the nearest ones of every centre.

        The number that a centre adds is proportional to the number of its forget examples.
        """
        shares, size = self.centres.shares, min(size, len(self.retain))
        return self._first(find_depths(self.search, shares, size, len(self.retain)), size, shares)

    def per_centre(self, count: int) -> Support:
        """Return the union of the `count` nearest examples of each centre."""
        alike = torch.ones(len(self.centres.directions), dtype=torch.float64)
        depth = depths(self.search, alike, count, len(self.retain))
        return self._first(depth, len(self.retain), alike)

    def above(self, least: float) -> Support:
        """Return the examples with at least this similarity to one of the centres."""
        assert self.scores is not None, "a threshold needs all similarities"
        support = (self.scores >= least).nonzero().squeeze(1)

        def is_near(centre: int) -> Tensor:
            return similarity(self.retain[support], self.centres.directions[[centre]]) >= least

        return Support(support, self.scores, is_near)

    def _first(self, depth: Tensor, size: int, shares: Tensor) -> Support:
        scores = self._score(depth.isfinite()) if self.scores is None else self.scores
        support = select_shallowest(depth, scores, size)
        limit = depth[support].max().item()

        def is_near(centre: int) -> Tensor:
            own = partial(nearest, self.centres.directions[[centre]], self.retain)
            most = math.ceil(limit * shares[centre].item())
            return depths(own, shares[[centre]], most, len(self.retain))[support] <= limit

        return Support(support, scores, is_near)

    def _score(self, is_found: Tensor) -> Tensor:
        scores = torch.full((len(self.retain),), torch.nan)
        scores[is_found] = similarity_to_nearest(self.retain[is_found], self.centres.directions)
        return scores

"""A support around several centres: the forget set's examples, or clusters of them."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from collateral.methods._shared.nearest import (
    Search,
    depths,
    depths_of,
    first_ones,
    nearest,
    similarity,
    similarity_to_nearest,
)


@dataclass(frozen=True)
class Centres:
    """Where the forget set lies, and which of the centres each of its examples belongs to."""

    directions: Tensor  # (c, D)
    cluster: Tensor  # (n_f,)

    @property
    def shares(self) -> Tensor:
        """The share of the forget set that belongs to each centre."""
        return self.cluster.bincount().double() / len(self.cluster)


def every_example(forget: Tensor) -> Centres:
    """Return a centre for each of the forget set's features."""
    return Centres(forget, torch.arange(len(forget)))


def sums_of(forget: Tensor, cluster: Tensor) -> Centres:
    """Return the sum of each cluster's features, which is to it what D_f's sum is to D_f."""
    groups = [forget[cluster == c] for c in range(int(cluster.max()) + 1)]
    sums = torch.stack([group.sum(0, dtype=torch.float64) for group in groups])
    return Centres(sums.to(forget.dtype), cluster)


@dataclass(frozen=True)
class Chosen:
    """Places among the retained examples, ascending, and whose neighbours they are."""

    support: Tensor
    similarity: Tensor  # (n,), of all retained examples to the centre nearest to each; or NaN
    # From a centre to whether each place is one of its own; None with the mean.
    is_near: Callable[[int], Tensor] | None = None


@dataclass(frozen=True)
class Neighbourhood:
    """The retained examples around the centres."""

    retain: Tensor  # (n, D)
    centres: Centres
    search: Search
    scores: Tensor | None  # (n,), similarity to the nearest centre; None: only of what is found

    def of_size(self, size: int) -> Chosen:
        """Share `size` places among the centres: each takes its nearest, in proportion."""
        shares, size = self.centres.shares, min(size, len(self.retain))
        return self._first(depths_of(self.search, shares, size, len(self.retain)), size, shares)

    def of_each(self, count: int) -> Chosen:
        """Return the union of the `count` nearest of each centre."""
        alike = torch.ones(len(self.centres.directions), dtype=torch.float64)
        depth = depths(self.search, alike, count, len(self.retain))
        return self._first(depth, len(self.retain), alike)

    def above(self, least: float) -> Chosen:
        """Return what is at least so similar to one of the centres."""
        assert self.scores is not None, "a threshold asks for all similarities"
        support = (self.scores >= least).nonzero().squeeze(1)

        def is_near(centre: int) -> Tensor:
            return similarity(self.retain[support], self.centres.directions[[centre]]) >= least

        return Chosen(support, self.scores, is_near)

    def _first(self, depth: Tensor, size: int, shares: Tensor) -> Chosen:
        scores = self._scores_of(depth.isfinite()) if self.scores is None else self.scores
        support = first_ones(depth, scores, size)
        limit = depth[support].max().item()

        def is_near(centre: int) -> Tensor:
            own = partial(nearest, self.centres.directions[[centre]], self.retain)
            most = math.ceil(limit * shares[centre].item())
            return depths(own, shares[[centre]], most, len(self.retain))[support] <= limit

        return Chosen(support, scores, is_near)

    def _scores_of(self, is_found: Tensor) -> Tensor:
        scores = torch.full((len(self.retain),), torch.nan)
        scores[is_found] = similarity_to_nearest(self.retain[is_found], self.centres.directions)
        return scores

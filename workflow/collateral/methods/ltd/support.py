"""The support: the retained examples that the teacher is trained on."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from collateral.methods._shared.nearest import (
    Search,
    depths,
    find_depths,
    nearest,
    select,
    select_shallowest,
    similarity,
    similarity_to_nearest,
)
from collateral.methods.ltd.auto_k import take_ascent_step
from collateral.methods.ltd.params import Prepare
from collateral.training.examples import Task
from collateral.training.inference import infer
from collateral.training.run import Run

# Number of forget examples on which the recall of an approximate search is measured.
NUM_CHECKED = 100


def choose_support(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the indices of the support, and each retained example's similarity to the forget set.

    The indices count within the retained set. Similarity is the cosine with the mean of the forget
    set, or with the nearest centre. With clusters, also return the `cluster` of each forget
    example, and the mask `parts` (number of clusters, size of the support): whether an example of
    the support is a neighbour of a cluster.
    """
    with run.phase("embedding"):
        retain_features, logits = infer(model, task.retain)
        was_right = logits.argmax(1) == task.retain.labels.cpu()
        forget_features, logits = infer(model, task.forget)
    with run.phase("support"):
        around = _make_neighbourhood(retain_features, forget_features, params, run)
    found = {}
    if params.min_similarity is not None:
        choose = partial(around.above, params.min_similarity)
    elif params.k_each is not None:
        choose = partial(around.per_centre, params.k_each)
    elif params.k != "auto":
        choose = partial(around.with_size, params.k)
    else:
        assert around.scores is not None, "bins need all similarities"
        with run.phase("ascent"):
            forget = task.forget.relabelled(logits.argmax(1))
            step = take_ascent_step(model, task.retain, forget, around.scores, was_right)
        run.report(auto_rate=step.rate)
        found = {"auto_edges": step.edges, "auto_counts": step.counts, "auto_drop": step.drop}
        choose = partial(around.above, step.least)
    with run.phase("support"):
        return found | _tensors(choose(), around, params)


@dataclass(frozen=True)
class Support:
    """The support as sorted indices in the retained set, and each retained example's similarity."""

    support: Tensor
    # Cosine of each retained example with its nearest centre; NaN if not computed.
    similarity: Tensor
    # Function that returns a mask of the support's examples near the centre with a given index.
    # None if the mean of the forget set is the only centre.
    is_near: Callable[[int], Tensor] | None = None


@dataclass(frozen=True)
class AroundMean:
    """Retained examples, ranked by their similarity to the mean of the forget set."""

    scores: Tensor  # cosine of each retained example with the forget set's mean
    which: str  # "closest", "farthest" or "random"
    generator: torch.Generator

    def with_size(self, size: int) -> Support:
        """Return `size` examples: the closest ones, the farthest ones, or random ones."""
        return Support(select(self.scores, size, self.which, self.generator), self.scores)

    def above(self, least: float) -> Support:
        """Return a support with as many examples as have a similarity of at least `least`."""
        return self.with_size(int((self.scores >= least).sum()))

    def per_centre(self, count: int) -> Support:
        """Return a support of `count` examples in all: the mean is the only centre."""
        return self.with_size(count)


@dataclass(frozen=True)
class Centres:
    """Centres of the forget set in feature space, and the centre of each forget example."""

    directions: Tensor  # direction of each centre (row)
    cluster: Tensor  # (n_f,), index of the centre of each of the n_f forget examples

    @property
    def shares(self) -> Tensor:
        """Fraction of the forget set that belongs to each centre."""
        return self.cluster.bincount().double() / len(self.cluster)


def use_every_example(forget: Tensor) -> Centres:
    """Return every forget example as a separate centre."""
    return Centres(forget, torch.arange(len(forget)))


def sum_clusters(forget: Tensor, cluster: Tensor) -> Centres:
    """Return one centre per cluster: the sum of the features of the cluster's forget examples."""
    groups = [forget[cluster == c] for c in range(int(cluster.max()) + 1)]
    sums = torch.stack([group.sum(0, dtype=torch.float64) for group in groups])
    return Centres(sums.to(forget.dtype), cluster)


@dataclass(frozen=True)
class Neighbourhood:
    """Retained examples, searchable by their similarity to several centres."""

    retain: Tensor  # features of each retained example (row)
    centres: Centres
    search: Search
    # Cosine of each retained example with its nearest centre; None for approximate search.
    scores: Tensor | None

    def with_size(self, size: int) -> Support:
        """Return `size` examples near the centres; centres with more forget examples add more."""
        shares, size = self.centres.shares, min(size, len(self.retain))
        return self._first(find_depths(self.search, shares, size, len(self.retain)), size, shares)

    def per_centre(self, count: int) -> Support:
        """Return the union of the `count` nearest examples of each centre."""
        alike = torch.ones(len(self.centres.directions), dtype=torch.float64)
        depth = depths(self.search, alike, count, len(self.retain))
        return self._first(depth, len(self.retain), alike)

    def above(self, least: float) -> Support:
        """Return the examples whose similarity to their nearest centre is at least `least`."""
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


def _make_neighbourhood(
    retain: Tensor, forget: Tensor, params: Prepare, run: Run
) -> AroundMean | Neighbourhood:
    if params.support_by == "mean":
        return AroundMean(similarity(retain, forget), params.support, run.generator)
    centres = use_every_example(forget)
    if params.support_by == "cluster":
        centres = sum_clusters(forget, _clusters(forget, params, run))
        run.report(clusters=len(centres.directions))
    if params.search == "approximate" and params.support_by == "example":
        return Neighbourhood(retain, centres, _approximate(retain, forget, params, run), None)
    scores = similarity_to_nearest(retain, centres.directions)
    return Neighbourhood(retain, centres, partial(nearest, centres.directions, retain), scores)


def _tensors(
    chosen: Support, around: AroundMean | Neighbourhood, params: Prepare
) -> dict[str, Tensor]:
    if not len(chosen.support):
        raise ValueError(
            f"min_similarity: {params.min_similarity}: no retained example is so similar to the "
            f"forget set; the most similar one has {chosen.similarity.max():.3f}"
        )
    found = {"support": chosen.support, "similarity": chosen.similarity}
    if params.support_by != "cluster":
        return found
    assert isinstance(around, Neighbourhood)
    assert chosen.is_near is not None
    parts = [chosen.is_near(centre) for centre in range(len(around.centres.directions))]
    return found | {"cluster": around.centres.cluster, "parts": torch.stack(parts)}


def _clusters(forget: Tensor, params: Prepare, run: Run) -> Tensor:
    with run.phase(None):
        # scikit-learn is imported only for clusters, because its import takes a second.
        from collateral.methods.ltd.clusters import find_clusters  # noqa: PLC0415
    return find_clusters(forget, params.clusters, run.random_seed())


def _approximate(retain: Tensor, forget: Tensor, params: Prepare, run: Run) -> Search:
    """Return a function for approximate search; report its recall for some forget examples.

    The time for measuring recall is not counted.

    Recall is measured over as many neighbours as one forget example adds to the support: `k_each`,
    or `k` divided by the number of forget examples.
    """
    try:
        with run.phase(None):
            from collateral.methods.ltd import index  # noqa: PLC0415
    except ImportError:
        needed = "pip install 'collateral[ann]'"
        raise ValueError(f"search: approximate needs the package faiss: {needed}") from None
    built = index.build_index(retain)
    with run.phase(None):
        share = params.k_each or math.ceil(cast(int, params.k) / len(forget))
        some, m = forget[:NUM_CHECKED], min(share, len(retain))
        found, true = index.search(built, some, m), nearest(some, retain, m)
        run.report(search_recall=index.recall(torch.cat([*found]), torch.cat([*true])))
    return partial(index.search, built, forget)

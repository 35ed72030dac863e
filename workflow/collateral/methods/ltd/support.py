"""Which retained examples the teacher learns."""

import math
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from collateral.methods._shared.nearest import (
    Search,
    nearest,
    select,
    similarity,
    similarity_to_nearest,
)
from collateral.methods.ltd.ascent import take_ascent_step
from collateral.methods.ltd.centres import Chosen, Neighbourhood, every_example, sums_of
from collateral.methods.ltd.params import Prepare
from collateral.training.examples import Task
from collateral.training.inference import infer
from collateral.training.run import Run

NUM_CHECKED = 100  # forget examples, of which an approximate search's recall is reported


def choose_support(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return `support`, places among the retained examples, and the numbers that chose it.

    Where it lies around clusters: also the `cluster` of each forget example, and in `parts`
    (clusters, places) which places are neighbours of which cluster.
    """
    with run.phase("embedding"):
        retain_features, logits = infer(model, task.retain)
        was_right = logits.argmax(1) == task.retain.labels.cpu()
        forget_features, logits = infer(model, task.forget)
    with run.phase("support"):
        around = _around(retain_features, forget_features, params, run)
    found = {}
    if params.min_similarity is not None:
        choose = partial(around.above, params.min_similarity)
    elif params.k_each is not None:
        choose = partial(around.of_each, params.k_each)
    elif params.k != "auto":
        choose = partial(around.of_size, params.k)
    else:
        assert around.scores is not None, "bins ask for all similarities"
        with run.phase("ascent"):
            forget = task.forget.relabelled(logits.argmax(1))
            step = take_ascent_step(model, task.retain, forget, around.scores, was_right)
        run.report(auto_rate=step.rate)
        found = {"auto_edges": step.edges, "auto_counts": step.counts, "auto_drop": step.drop}
        choose = partial(around.above, step.least)
    with run.phase("support"):
        return found | _tensors(choose(), around, params)


@dataclass(frozen=True)
class AroundMean:
    """The retained examples by their similarity to the mean of the forget set."""

    scores: Tensor  # (n,)
    which: str
    generator: torch.Generator

    def of_size(self, size: int) -> Chosen:
        """Return the closest, the farthest, or random ones."""
        return Chosen(select(self.scores, size, self.which, self.generator), self.scores)

    def above(self, least: float) -> Chosen:
        """Return as many as are at least so similar to the mean."""
        return self.of_size(int((self.scores >= least).sum()))

    def of_each(self, count: int) -> Chosen:
        """Return the nearest of the one centre that there is."""
        return self.of_size(count)


def _around(
    retain: Tensor, forget: Tensor, params: Prepare, run: Run
) -> AroundMean | Neighbourhood:
    if params.support_by == "mean":
        return AroundMean(similarity(retain, forget), params.support, run.generator)
    centres = every_example(forget)
    if params.support_by == "cluster":
        centres = sums_of(forget, _clusters(forget, params, run))
        run.report(clusters=len(centres.directions))
    if params.search == "approximate" and params.support_by == "example":
        return Neighbourhood(retain, centres, _approximate(retain, forget, params, run), None)
    scores = similarity_to_nearest(retain, centres.directions)
    return Neighbourhood(retain, centres, partial(nearest, centres.directions, retain), scores)


def _tensors(
    chosen: Chosen, around: AroundMean | Neighbourhood, params: Prepare
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
        # It imports scikit-learn, for a second that no other support is worth.
        from collateral.methods.ltd.clusters import clusters_of  # noqa: PLC0415
    return clusters_of(forget, params.clusters, run.random_seed())


def _approximate(retain: Tensor, forget: Tensor, params: Prepare, run: Run) -> Search:
    """Return a search by an index; report, off the clock, what it finds for some examples.

    Of each: as many neighbours as it adds at least, its share of k or k_each.
    """
    try:
        with run.phase(None):
            from collateral.methods.ltd import index  # noqa: PLC0415
    except ImportError:
        needed = "pip install 'collateral[ann]'"
        raise ValueError(f"search: approximate needs the package faiss: {needed}") from None
    made = index.index_of(retain)
    with run.phase(None):
        asked = params.k_each or math.ceil(cast(int, params.k) / len(forget))
        some, m = forget[:NUM_CHECKED], min(asked, len(retain))
        found, true = index.search(made, some, m), nearest(some, retain, m)
        run.report(search_recall=index.recall(torch.cat([*found]), torch.cat([*true])))
    return partial(index.search, made, forget)

"""Job that computes the similarity of every example to the forget set."""

from typing import Any

from collateral.jobs._job import Inputs, Job, PlannedInCell
from collateral.plan.work import FLOAT_BYTES
from collateral.results import layout


class NeighboursJob(Job):
    """Computation of similarities from the data set and the embeddings of the base models."""

    folder = layout.CELL
    has_cost = False

    cell: str
    seeds: tuple[int, ...]
    base_seeds: tuple[int, ...]  # seed of the base model of each seed

    @property
    def inputs(self) -> Inputs:
        """Data, forget set, and embeddings of the base model, one per seed."""
        bases = [self.path(layout.BASE, seed=seed) for seed in self.base_seeds]
        embeddings = [f"{folder}/{layout.EMBEDDINGS}" for folder in bases]
        return {
            "data": layout.DATA,
            "split": self.path(layout.SPLIT),
            "embeddings": embeddings,
        }

    @property
    def files(self) -> dict[str, str]:
        """Similarities, and the nearest examples."""
        return {"neighbours": self.path(layout.NEIGHBOURS)}


class PlannedNeighbours(PlannedInCell):
    """Planned job that computes how similar examples are to the forget set of a cell."""

    describes = NeighboursJob
    seconds = 0.1

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that are evaluated."""
        return self.benchmark.evaluated_seeds

    @property
    def values(self) -> dict[str, Any]:
        """Seeds of the runs and of their base models."""
        return {"seeds": self.seeds, "base_seeds": self.benchmark.base_seeds}

    @property
    def bytes(self) -> float:
        """Disk space of one similarity per seed and example, in bytes."""
        return FLOAT_BYTES * len(self.seeds) * self.workload.size.num_examples

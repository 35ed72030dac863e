"""Job of a shadow model: trained like the base model, on a random part of the train set."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from collateral.contract.work import Work, inference_work
from collateral.jobs._weights import PlannedWeights, WeightsJob
from collateral.plan import paths
from collateral.plan.grid import Benchmark
from collateral.plan.work import BLOCK, RUN_BLOCKS
from collateral.results import layout

MARGIN_BYTES = 1 + 4  # bytes per example: one for membership, four for the margin


class ShadowJob(WeightsJob):
    """Training of one shadow model; its seed is its number."""

    folder = layout.SHADOW

    member: int
    count: int  # number of shadow models
    share: float  # share of them that are trained on an example
    params: dict[str, Any]  # settings of training

    @property
    def files(self) -> dict[str, str]:
        """Weights, margins and history."""
        return self.in_folder(model=layout.MODEL, margins=layout.MARGINS, history=layout.HISTORY)


class PlannedShadow(PlannedWeights):
    """Planned job that trains one shadow model."""

    describes = ShadowJob
    evaluated = ""
    is_presented = False

    member: int

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield one job per shadow model; none if the config has no key `shadows`."""
        members = range(benchmark.pool.count) if benchmark.config.shadows else ()
        return (cls(benchmark, member) for member in members)

    @property
    def seed(self) -> int:
        """Seed of the shadow model."""
        return self.member

    @property
    def values(self) -> dict[str, Any]:
        """Model and settings of training, and the pool of shadow models."""
        pool = self.benchmark.pool
        return {**super().values, "count": pool.count, "share": pool.share}

    @property
    def will_run(self) -> bool:
        """Tell whether the job will run.

        It runs if its margins are missing, and some file that is made from margins is missing.
        """
        made_from = []
        for name, cell in self.benchmark.cells.items():
            made_from += [self.path(paths.EXPOSED, cell=name, run=run) for run in cell.exposed]
            made_from += [self.path(paths.SPLIT, cell=name)] * (cell.forget.needs == "shadows")
        has_margins = Path(f"{self.out}/{layout.MARGINS}").exists()
        return not has_margins and not all(Path(file).exists() for file in made_from)

    @property
    def work(self) -> Work:
        """Estimated amount of computation of training a shadow model and of computing its margins.

        The model is trained on a fraction of the train set; margins are computed on the whole set.
        """
        num_train = self.workload.size.num_train
        share = round(self.benchmark.pool.share * num_train)
        return self.workload.fit(share) + inference_work(num_train)

    @property
    def bytes(self) -> float:
        """Disk space of weights, margins and small files, in bytes."""
        size = self.workload.size
        weights = self.workload.facts.bytes(size.num_classes)
        return weights + MARGIN_BYTES * size.num_train + RUN_BLOCKS * BLOCK

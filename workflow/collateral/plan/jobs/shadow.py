"""A shadow model: trained on a random share of the train set, by the base's recipe."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from collateral.contract.work import Work, inference_work
from collateral.plan import paths
from collateral.plan.grid import Benchmark
from collateral.plan.jobs._disk import BLOCK, RUN_BLOCKS
from collateral.plan.jobs._job import Record
from collateral.plan.jobs._weights import WeightsJob
from collateral.results import layout

MARGIN_BYTES = 1 + 4  # for each example: whether it was trained on, and its margin


@dataclass(frozen=True)
class ShadowJob(WeightsJob):
    """A member of the shadow pool."""

    needs = ("data",)
    folder = paths.SHADOW
    evaluated = ""
    stage = "shadow"

    member: int

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield a job for each member; none without `shadows`."""
        members = range(benchmark.pool.count) if benchmark.config.shadows else ()
        return (cls(benchmark, member) for member in members)

    @property
    def seed(self) -> int:
        """The seed of the model."""
        return self.member

    @property
    def options(self) -> str:
        """The size of the pool, and the share of its members that see an example."""
        pool = self.benchmark.pool
        return shlex.join(["--count", str(pool.count), "--share", str(pool.share)])

    @property
    def files(self) -> tuple[str, ...]:
        """Nothing: tables, figures and pages need no shadow model."""
        return ()

    @property
    def will_run(self) -> bool:
        """Tell whether its margins are missing, and a method that is evaluated on it."""
        exposures = (
            self.path(paths.EXPOSED, cell=cell.name, run=run.name)
            for cell in self.benchmark.cells.values()
            for run in cell.exposed
        )
        return not (_exists(f"{self.out}/{layout.MARGINS}") or all(map(_exists, exposures)))

    @property
    def work(self) -> Work:
        """Training on its share; its margins are of the train set alone."""
        num_train = self.workload.size.num_train
        share = round(self.benchmark.pool.share * num_train)
        return (self.workload.fit(share) + inference_work(num_train)).of(self.model)

    @property
    def bytes(self) -> float:
        """The disk space of weights, margins and small files."""
        size = self.workload.size
        weights = self.workload.facts.bytes(size.num_classes)
        return weights + MARGIN_BYTES * size.num_train + RUN_BLOCKS * BLOCK

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now."""
        pool = self.benchmark.pool
        return {
            **self.training_record(found),
            "pool": {"count": pool.count, "share": pool.share},
        }


def _exists(file: str) -> bool:
    return Path(file).exists()

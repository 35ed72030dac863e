"""The base model: trained on all examples, or the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from collateral.plan import paths
from collateral.plan.grid import Benchmark
from collateral.plan.jobs._disk import FLOAT_BYTES
from collateral.plan.jobs._job import Record
from collateral.plan.jobs._weights import WeightsJob, own_file
from collateral.plan.weights_fit import OwnFile


@dataclass(frozen=True)
class BaseJob(WeightsJob):
    """The base model of a seed."""

    needs = ("data",)
    folder = paths.BASE
    remedy = "train it, and all that starts from it,"

    seed: int

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield a job for each base model that is trained."""
        return (cls(benchmark, seed) for seed in benchmark.base_seeds())

    @property
    def own(self) -> OwnFile | None:
        """The user's own weights, if these replace training."""
        base = self.benchmark.config.base
        if base.weights is None:
            return None
        return own_file("base.weights", base.weights, base.rename, seed=self.seed)

    @property
    def files(self) -> tuple[str, ...]:
        """Nothing if no cell evaluates the base model: weights alone are needed then."""
        is_evaluated = any(map(self.benchmark.evaluates_base, self.benchmark.cells.values()))
        return super().files if is_evaluated else ()

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now."""
        return {"run": "base", **self.training_record(found)}

    @property
    def bytes(self) -> float:
        """The disk space, with that of the embeddings."""
        numbers = self.workload.size.num_examples * self.workload.facts.features
        return super().bytes + FLOAT_BYTES * numbers

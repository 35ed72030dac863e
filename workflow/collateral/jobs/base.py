"""Job of the base model: trained on all examples, or given by the user."""

from collections.abc import Iterator
from typing import Self

from collateral.jobs._job import OwnFile, Record
from collateral.jobs._weights import WeightsJob
from collateral.plan import paths
from collateral.plan.grid import Benchmark
from collateral.plan.work import FLOAT_BYTES


class BaseJob(WeightsJob):
    """Training of the base model of one seed."""

    folder = paths.BASE

    seed: int

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield one job per base model."""
        return (cls(benchmark, seed) for seed in benchmark.base_seeds())

    @property
    def own(self) -> OwnFile | None:
        """Weights that the user gives for this model, or None if the model is trained."""
        return self.find_file("base.weights", self.benchmark.config.base)

    @property
    def files(self) -> tuple[str, ...]:
        """Output files that pages are made from; empty if no cell evaluates the base model."""
        is_evaluated = any(map(self.benchmark.evaluates_base, self.benchmark.cells.values()))
        return super().files if is_evaluated else ()

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code."""
        return {"run": "base", **self.training_record(found)}

    @property
    def bytes(self) -> float:
        """Disk space of the output files, including the embeddings."""
        numbers = self.workload.size.num_examples * self.workload.facts.features
        return super().bytes + FLOAT_BYTES * numbers

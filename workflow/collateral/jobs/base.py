"""Job of the base model: trained on all examples, or given by the user."""

from collections.abc import Iterator
from pathlib import Path
from typing import Self

from collateral.jobs._job import OwnFile
from collateral.jobs._weights import PlannedWeights, TrainedJob
from collateral.plan.grid import Benchmark
from collateral.plan.work import FLOAT_BYTES
from collateral.results import layout


class BaseJob(TrainedJob):
    """Training of the base model of one seed."""

    folder = layout.BASE

    @property
    def files(self) -> dict[str, str]:
        """Weights, outputs, history and embeddings."""
        return super().files | self.in_folder(embeddings=layout.EMBEDDINGS)


class PlannedBase(PlannedWeights):
    """Planned job that trains the base model of one seed."""

    describes = BaseJob

    seed: int

    @classmethod
    def list_all(cls, benchmark: Benchmark) -> Iterator[Self]:
        """Yield one job per base model."""
        first = benchmark.base_seed(benchmark.seeds[0])
        return (cls(benchmark, seed) for seed in dict.fromkeys([first, *benchmark.base_seeds]))

    @property
    def own(self) -> tuple[OwnFile, Path] | None:
        """Weights that the user gives for this model, or None if the model is trained."""
        return self.find_file("base.weights", self.benchmark.config.base)

    @property
    def files(self) -> tuple[str, ...]:
        """Output files that pages are made from; empty if no cell evaluates the base model."""
        is_evaluated = any(map(self.benchmark.evaluates_base, self.benchmark.cells.values()))
        return super().files if is_evaluated else ()

    @property
    def bytes(self) -> float:
        """Disk space of the output files, including the embeddings."""
        numbers = self.workload.size.num_examples * self.workload.facts.features
        return super().bytes + FLOAT_BYTES * numbers

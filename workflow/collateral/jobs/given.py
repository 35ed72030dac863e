"""Job that evaluates an unlearned model that the user provides; nothing is trained."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from collateral.contract.work import Work
from collateral.jobs._job import CellJob, OwnFile, Record
from collateral.jobs._weights import WeightsJob
from collateral.plan import paths
from collateral.plan.grid import Benchmark, Cell


@dataclass(frozen=True)
class GivenJob(WeightsJob, CellJob):
    """Evaluation of a file of unlearned weights."""

    needs = ("data", "split")
    folder = paths.RUN
    remedy = "look at its weights"
    stage = "given"

    seed: int
    run: str

    @classmethod
    def list_in_cell(cls, benchmark: Benchmark, cell: Cell) -> Iterator[Self]:
        """Yield one job per seed and entry of `given`."""
        return (cls(benchmark, cell, seed, run) for seed in benchmark.seeds for run in cell.given)

    @property
    def own(self) -> OwnFile | None:
        """User's weight file for the cell and the seed."""
        return self.own_file(f"given.{self.run}.weights", self.cell.given[self.run])

    @property
    def options(self) -> str:
        """Options with the run's name, its weight file, and the seconds that unlearning took."""
        return f"{shlex.join(['--run', self.run])} {self.start}"

    @property
    def work(self) -> Work:
        """Estimated amount of computation of one evaluation."""
        return self.workload.evaluation.for_model(self.model)

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now."""
        return {"run": self.run, **self.model_record(self.split), **self.weights_record(found)}

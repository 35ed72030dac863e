"""A method on every shadow model, with the values of its runs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from collateral.contract.work import Work, inference_work
from collateral.plan import paths
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.plan.jobs._disk import BLOCK, RUN_BLOCKS
from collateral.plan.jobs._job import Record
from collateral.plan.jobs._method import FirstSeedJob, method_options
from collateral.results import layout

# For each example of a shadow model: whether it was trained on, its margin before and after.
EXPOSED_BYTES = 1 + 4 + 4


@dataclass(frozen=True)
class ExposeJob(FirstSeedJob):
    """A method on the shadow pool; random numbers follow from the first seed."""

    needs = ("data", "split", "shadow", "tune")
    folder = paths.EXPOSURE
    evaluated = layout.EXPOSURE_MARGINS
    remedy = "train it, and the shadow models where these are missing too,"

    run: str

    @classmethod
    def list_in_cell(cls, benchmark: Benchmark, cell: Cell) -> Iterator[Self]:
        """Yield a job for each method, if there are shadow models."""
        return (cls(benchmark, cell, run.name) for run in cell.exposed)

    @property
    def spec(self) -> RunSpec:
        """The method and its values."""
        return self.cell.runs[self.run]

    @property
    def options(self) -> str:
        """The run, its method and its values as far as the config has them."""
        return shlex.join(["--run", self.run, *method_options(self.spec)])

    @property
    def shadows(self) -> list[str]:
        """The weights of all shadow models, member by member."""
        pattern = paths.shadow_files(paths.SHADOW)["model"]
        return [self.path(pattern, member=n) for n in range(self.benchmark.pool.count)]

    @property
    def work(self) -> Work:
        """Unlearning from all shadow models, each of its share; the mean over all choices."""
        whole, pool, workload = self.workload.sizes(self.cell), self.benchmark.pool, self.workload
        shares = {key: round(pool.share * getattr(whole, key)) for key in ("retain", "forget")}
        sizes, choices = replace(whole, **shares), self.spec.choices
        work = inference_work(workload.size.num_train) * len(choices)
        work += workload.sum_work("unlearn_work", choices, sizes)
        if self.spec.preparations:
            work += workload.sum_work("prepare_work", choices, sizes)
        return (work * (pool.count / len(choices))).of(self.model)

    @property
    def bytes(self) -> float:
        """The disk space of the margins of all shadow models."""
        margins = EXPOSED_BYTES * self.benchmark.pool.count * self.workload.size.num_train
        return margins + RUN_BLOCKS * BLOCK

    def record(self, found: Record, folder: Path) -> Record:
        """Return the record that the job would write now."""
        margins = [file.replace(layout.MODEL, layout.MARGINS) for file in self.shadows]
        record = self.method_record(*self.shadows, *margins, *self.selected)
        return {**record, "run": self.run, "params": self.final_params(found["params"], folder)}

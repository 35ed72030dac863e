"""All trials of a method on the first seed, and the choice of its values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from collateral.contract.work import Work
from collateral.plan import paths
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.plan.jobs._disk import FLOAT_BYTES
from collateral.plan.jobs._job import Record, as_json
from collateral.plan.jobs._method import DONE_FILES, FirstSeedJob, method_options
from collateral.plan.preparation import Preparation, preparations_of
from collateral.results import layout


@dataclass(frozen=True)
class TuneJob(FirstSeedJob):
    """The tuning of a method."""

    needs = (*FirstSeedJob.needs, "teacher")
    folder = paths.TUNE
    files = (layout.TRIALS, layout.SELECTED, *DONE_FILES)
    evaluated = layout.TRIALS
    remedy = "train it, and the runs that follow its choice,"

    method: str

    @classmethod
    def list_in_cell(cls, benchmark: Benchmark, cell: Cell) -> Iterator[Self]:
        """Yield a job for each method with something to tune."""
        return (cls(benchmark, cell, method) for method in cell.tuned)

    @property
    def spec(self) -> RunSpec:
        """The method and its values."""
        return self.cell.runs[self.method]

    @property
    def options(self) -> str:
        """The method, its values, its trials and the rule that chooses."""
        method, rule = self.spec.method, self.benchmark.config.select
        trials, default = as_json(method.trials()), as_json(method.default_trial())
        tuning = ["--trials", trials, "--default", default, "--select", rule]
        return shlex.join([*method_options(self.spec), *tuning])

    @property
    def teacher(self) -> list[str]:
        """The teacher's outputs on the forget set, if the rule uses them."""
        return [self.path(paths.TEACHER_SAYS)] if self.cell.teacher else []

    @property
    def preparation(self) -> Preparation:
        """The jobs that prepare for this one, and what it has to prepare itself."""
        return preparations_of(self.cell).of_tuning(self.spec)

    @property
    def work(self) -> Work:
        """All trials, each with an evaluation."""
        tried, workload = self.spec.tried, self.workload
        trials = workload.unlearn(self.cell, tried) + workload.evaluation * len(tried)
        return (trials + workload.prepare(self.cell, self.preparation.made)).of(self.model)

    @property
    def bytes(self) -> float:
        """The disk space of the prepared numbers."""
        sizes = self.workload.sizes(self.cell)
        return FLOAT_BYTES * sum(p.prepared_numbers(sizes) for p in self.preparation.made)

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now."""
        method = self.spec.method
        return {
            **self.method_record(self.base, *self.teacher),
            "trials": [method.trials(), as_json(method.default_trial())],
            "params": self.spec.params.model_dump(mode="json"),
            "select": self.benchmark.config.select,
        }

"""One run of a method or a control; a tracked run is evaluated after every epoch."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from collateral.contract.work import Work
from collateral.plan import paths
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.plan.jobs._disk import FLOAT_BYTES, run_bytes, tracked_bytes
from collateral.plan.jobs._job import Record, as_json
from collateral.plan.jobs._method import MethodJob, method_options
from collateral.plan.jobs._weights import RUN_FILES
from collateral.plan.preparation import Preparation, preparations_of
from collateral.plan.work import num_tracked
from collateral.results import layout


@dataclass(frozen=True)
class UnlearnJob(MethodJob):
    """The run of a seed."""

    needs = (*MethodJob.needs, "retrain", "teacher", "tune")
    folder = paths.RUN
    evaluated = layout.OUTPUTS

    seed: int
    run: str

    @classmethod
    def list_in_cell(cls, benchmark: Benchmark, cell: Cell) -> Iterator[Self]:
        """Yield a job for each seed and run."""
        names = [run.name for run in cell.unlearned]
        return (cls(benchmark, cell, seed, run) for seed in benchmark.seeds for run in names)

    @property
    def spec(self) -> RunSpec:
        """The method and its values."""
        return self.cell.runs[self.run]

    @property
    def rule(self) -> str:
        """The rule that runs it: a tracked run writes one more file."""
        return self.spec.rule

    @property
    def files(self) -> tuple[str, ...]:
        """The files that tables, figures and pages are made from."""
        return (*RUN_FILES, layout.EPOCHS) if self.spec.tracked else RUN_FILES

    @property
    def options(self) -> str:
        """The run, its method and its values as far as the config has them."""
        return run_options(self.spec)

    @property
    def preparation(self) -> Preparation:
        """The jobs that prepare for this one, and what it has to prepare itself."""
        found = preparations_of(self.cell)
        return found.of_run(self.spec, is_first_seed=self.seed == self.benchmark.seeds[0])

    @property
    def retrained(self) -> list[str]:
        """Retrain's outputs for a control that needs them; for a method, nothing."""
        if not self.spec.needs_retrain:
            return []
        return [self.path(paths.run_files(paths.RETRAIN)["outputs"])]

    @property
    def work(self) -> Work:
        """The work of a run; where tuning chooses, the mean over its choices."""
        # Equal for all seeds but the first, for which tuning may have prepared.
        first, *others = self.benchmark.seeds
        seed = self.seed if self.seed == first else others[0]
        return run_work(UnlearnJob(self.benchmark, self.cell, seed, self.run))

    @property
    def bytes(self) -> float:
        """The disk space of the run's files, and of what it prepares for the one choice it gets."""
        run, sizes = self.spec, self.workload.sizes(self.cell)
        tracked = tracked_bytes(self.workload, self.cell, run) if run.tracked else 0
        numbers = sum(params.prepared_numbers(sizes) for params in self.preparation.made)
        prepared = FLOAT_BYTES * numbers / max(1, len(run.preparations))
        return run_bytes(self.workload) + tracked + prepared

    def record(self, found: Record, folder: Path) -> Record:
        """Return the record that the job would write now."""
        params = self.final_params(found["params"], folder)
        record = self.method_record(self.base, *self.selected, *self.retrained)
        return {**record, "run": self.run, "params": params}


@cache
def run_work(job: UnlearnJob) -> Work:
    """Return the work of a run."""
    run, workload = job.spec, job.workload
    work = workload.unlearn(job.cell, run.choices) * (1 / len(run.choices)) + workload.evaluation
    if run.tracked:
        work += workload.evaluation * num_tracked(run, workload.sizes(job.cell))
    prepared = workload.prepare(job.cell, job.preparation.made)
    return (work + prepared * (1 / max(1, len(run.preparations)))).of(job.model)


# One text for all seeds, since Snakemake reads each value many times.
@cache
def run_options(run: RunSpec) -> str:
    """Return the options of a run."""
    track = ["--track"] if run.tracked else []
    vary = ["--vary", as_json(run.vary)]
    return shlex.join(["--run", run.name, *method_options(run), *vary, *track])

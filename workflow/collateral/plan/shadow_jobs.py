"""What jobs of the shadow pool need and are told: a model each, and a method on all of them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from collateral.contract.plugins import MODEL
from collateral.contract.work import Work
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.jobs import BenchmarkJob
from collateral.plan.method_jobs import MethodJob, method_code, method_options
from collateral.plan.workload import workload_of


@dataclass(frozen=True)
class ShadowJob(BenchmarkJob):
    """A model on a random share of the train set, by the base's recipe."""

    member: int

    @property
    def pool(self) -> str:
        """How many there are, and how many of them see an example."""
        pool = self.benchmark.pool
        return shlex.join(["--count", str(pool.count), "--share", str(pool.share)])

    @property
    def code(self) -> str:
        """The code that trains it."""
        return stage_code("shadow", MODEL.module(self.model))

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).shadow()


class ExposeJob(MethodJob):
    """A method on every shadow model, with the values of its runs."""

    @property
    def options(self) -> str:
        """The run, its method and its values as far as the config has them."""
        return shlex.join(["--run", self.run.name, *method_options(self.run)])

    @property
    def shadows(self) -> list[str]:
        """The weights of all shadow models, member by member."""
        pattern = paths.shadow_files(paths.SHADOW)["model"]
        members = range(self.benchmark.pool.count)
        return [self.path(pattern, member=member) for member in members]

    @property
    def code(self) -> str:
        """The code of the stage, its method and its models."""
        return method_code("expose", self.run, self.model)

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).expose(self.cell, self.run)


def expose_job(benchmark: Benchmark, cell: Cell, run: str) -> ExposeJob:
    """Return the job of a method; what it draws follows from the first seed, as tuning does."""
    return ExposeJob(benchmark, cell, cell.runs[run], benchmark.seeds[0])

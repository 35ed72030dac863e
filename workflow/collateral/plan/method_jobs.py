"""What jobs of methods need and are told: tuning, runs, and LTD's teachers of every size."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cache

from collateral.contract.plugins import MODEL, kind_of, prepare_values
from collateral.contract.work import Work
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Benchmark, Cell, RunSpec
from collateral.plan.jobs import CellJob, as_json
from collateral.plan.preparation import Preparation, preparations_of
from collateral.plan.workload import workload_of

SUPPORT = ("k", "k_each", "min_similarity")  # what supports of every size replace


@dataclass(frozen=True)
class MethodJob(CellJob):
    """A job that runs a method on a seed."""

    run: RunSpec
    seed: int

    @property
    def base(self) -> str:
        """The weights that it starts from."""
        seed = self.benchmark.base_seed(self.seed)
        return self.path(paths.run_files(paths.BASE)["model"], seed=seed)

    @property
    def selected(self) -> list[str]:
        """The tuning's choice that it waits for, if any."""
        tuned_by = self.run.tuned_by
        return [self.path(paths.SELECTED, method=tuned_by)] if tuned_by else []

    def _sources(self, found: Preparation) -> list[str]:
        """Return the folders of jobs that prepare what this one may need."""
        tunings = [self.path(paths.TUNE, method=name) for name in found.tunings]
        tunings += [self.path(paths.TEACHER)] if found.teacher else []
        return tunings + [self.path(paths.RUN, seed=self.seed, run=name) for name in found.runs]


class TuneJob(MethodJob):
    """All trials of a method."""

    @property
    def options(self) -> str:
        """The method, its values, its trials and the rule that chooses."""
        method, rule = self.run.method, self.benchmark.config.select
        trials, default = as_json(method.trials()), as_json(method.default_trial())
        tried = ["--trials", trials, "--default", default, "--select", rule]
        return shlex.join([*method_options(self.run), *tried])

    @property
    def teacher(self) -> list[str]:
        """What the cell's teacher says, where the rule asks it."""
        return [self.path(paths.TEACHER_SAYS)] if self.cell.teacher else []

    @property
    def sources(self) -> list[str]:
        """The folders of tunings that prepare what this one may need."""
        return self._sources(preparations_of(self.cell).of_tuning(self.run))

    @property
    def code(self) -> str:
        """The code of the stage, its method and its models."""
        return method_code("tune", self.run, self.model)

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).tune(self.cell, self.run)


class UnlearnJob(MethodJob):
    """One run."""

    @property
    def options(self) -> str:
        """The run, its method and its values as far as the config has them."""
        return run_options(self.run)

    @property
    def sources(self) -> list[str]:
        """The folders of jobs that prepare what this one may need."""
        is_first_seed = self.seed == self.benchmark.seeds[0]
        return self._sources(
            preparations_of(self.cell).of_run(self.run, is_first_seed=is_first_seed)
        )

    @property
    def retrained(self) -> list[str]:
        """Retrain's outputs for a control that needs them; for a method, nothing."""
        if not self.run.needs_retrain:
            return []
        return [self.path(paths.run_files(paths.RETRAIN)["outputs"], seed=self.seed)]

    @property
    def code(self) -> str:
        """The code of the stage, its method and its models."""
        return method_code("unlearn", self.run, self.model)

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).run(self.cell, self.run, self.seed)


class TeacherJob(MethodJob):
    """The teacher that tuning asks."""

    @property
    def options(self) -> str:
        """The method, and what its teacher is trained with."""
        uses, params = self.run.method.uses, self.run.params
        return shlex.join(["--method", uses, "--params", as_json(prepare_values(uses, params))])

    @property
    def code(self) -> str:
        """The code of the stage, its method and its models."""
        return method_code("teacher", self.run, self.model)

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).teacher(self.cell)


class SupportSizeJob(MethodJob):
    """LTD's teachers on supports of every size."""

    @property
    def options(self) -> str:
        """The method, what its teachers are trained with, whatever k runs have, and the sizes."""
        assert self.benchmark.config.support_size is not None
        uses, params = self.run.method.uses, self.run.params
        values = {k: v for k, v in prepare_values(uses, params).items() if k not in SUPPORT}
        sizes = map(str, self.benchmark.config.support_size.k)
        top = str(params.model_dump()["top"])
        return shlex.join(
            ["--method", uses, "--params", as_json(values), "--sizes", *sizes, "--top", top]
        )

    @property
    def selected(self) -> list[str]:
        """The tuning's choice where it decides how the teacher is trained."""
        return super().selected if len(self.run.preparations) > 1 else []

    @property
    def code(self) -> str:
        """The code of the stage, its method and its models."""
        return method_code("support_size", self.run, self.model)

    @property
    def work(self) -> Work:
        """What it computes."""
        return workload_of(self.benchmark).support_size(self.cell)


def tune_job(benchmark: Benchmark, cell: Cell, method: str) -> TuneJob:
    """Return the tuning of a method: it runs on the first seed."""
    return TuneJob(benchmark, cell, cell.runs[method], benchmark.seeds[0])


def teacher_job(benchmark: Benchmark, cell: Cell) -> TeacherJob:
    """Return the teacher of a cell whose tunings ask it: as they, of the first seed."""
    assert cell.teacher is not None
    return TeacherJob(benchmark, cell, cell.teacher, benchmark.seeds[0])


def support_size_job(benchmark: Benchmark, cell: Cell, seed: int) -> SupportSizeJob:
    """Return the teachers of a cell that asks for them."""
    assert cell.support_sized is not None
    return SupportSizeJob(benchmark, cell, cell.support_sized, seed)


# One text a run, since Snakemake looks at each value many times.
@cache
def run_options(run: RunSpec) -> str:
    """Return the options of a run, the same for all seeds."""
    track = ["--track"] if run.tracked else []
    vary = ["--vary", as_json(run.vary)]
    return shlex.join(["--run", run.name, *method_options(run), *vary, *track])


def method_options(run: RunSpec) -> list[str]:
    """Return a method and its values."""
    return ["--method", run.method.uses, "--params", run.params.model_dump_json()]


@cache
def method_code(stage: str, run: RunSpec, model: str) -> str:
    """Return the fingerprint of a stage, a method, and the models that it may build by name."""
    # Tuning tries the defaults too, which may name another teacher.
    choices = run.tried if stage == "tune" else run.choices
    values = {str(value) for params in choices for value in params.model_dump().values()}
    models = {model, *values.intersection(MODEL.names())}
    uses = run.method.uses
    return stage_code(
        stage, kind_of(uses).module(uses, "method"), *sorted(map(MODEL.module, models))
    )

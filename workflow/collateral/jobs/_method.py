"""Jobs that run an unlearning method, and the choice of jobs that run `prepare`.

Several jobs may need the same files of a method's `prepare`. The first of these jobs makes the
files; the others read them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from collateral.contract.params import MethodParams
from collateral.contract.work import FLOAT32, Work
from collateral.jobs._job import Inputs, Job, Part, PlannedInCell
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Cell, RunSpec
from collateral.plan.work import FLOAT_BYTES
from collateral.plugins.find import MODEL, method_kind, prepare_class
from collateral.results import layout


class Preparing(Part):
    """The other jobs of the cell that run `prepare` for a job."""

    tunings: tuple[str, ...] = ()  # names of methods whose tuning jobs run it
    runs: tuple[str, ...] = ()  # names of runs of the same seed whose jobs run it
    teacher: bool = False  # whether the job of the cell's teacher runs it


@dataclass(frozen=True)
class PreparePlan:
    """Which other jobs run `prepare` for a job, and for which parameters the job runs it itself."""

    others: Preparing = field(default_factory=Preparing)
    made: tuple[MethodParams, ...] = ()


class PreparePlans:
    """All calls of `prepare` in a cell, and the jobs that run them."""

    def __init__(self, cell: Cell) -> None:
        """For each call of `prepare`, find the job that runs it: the first that needs it."""
        runs = [run for run in cell.runs.values() if run.prepare_calls]
        tunings = [run for run in runs if run.name in cell.tuned]
        # The first job that needs a call of `prepare` runs it. Reversed, as a dict keeps the last.
        # Sweeps are last in the list of runs, so that a new sweep does not change any other run.
        self._tunings = {name: run.name for run in reversed(tunings) for name in run.prepare_calls}
        # Name of the folder that the teacher's `prepare` writes; empty if the cell has no teacher.
        self._teacher = next(iter(cell.teacher.prepare_calls)) if cell.teacher else ""
        self._tunings.pop(self._teacher, None)
        self._is_later_round = bool(cell.forget.earlier)
        self._runs = {_key(run): run.name for run in reversed(runs)}

    def for_tuning(self, run: RunSpec) -> PreparePlan:
        """Return which jobs run `prepare` for a tuning job: itself, other tunings, the teacher."""
        makers = {name: self._tunings[name] for name in run.prepare_calls if name in self._tunings}
        others = dict.fromkeys(maker for maker in makers.values() if maker != run.name)
        prepared = run.find_prepare_calls(run.trial_params)
        has_teacher = prepared.pop(self._teacher, None) is not None
        made = [
            params for name, params in prepared.items() if makers.get(name, run.name) == run.name
        ]
        return PreparePlan(Preparing(tunings=tuple(others), teacher=has_teacher), tuple(made))

    def for_run(self, run: RunSpec, *, is_first_seed: bool) -> PreparePlan:
        """Return which jobs run `prepare` for a run: other jobs, or the job of the run itself.

        For the first seed, tuning may have run `prepare`. After round 1 no files are shared,
        because each run starts from its own model of the round before.
        """
        if self._is_later_round:
            return PreparePlan(made=tuple(run.prepare_calls.values()))
        makers = {name: self._tunings.get(name) for name in run.prepare_calls}
        tunings = tuple(dict.fromkeys(maker for maker in makers.values() if maker))
        has_teacher = self._teacher in run.prepare_calls
        if is_first_seed and (tunings or has_teacher):
            found = {*self._tunings, self._teacher}
            made = [params for name, params in run.prepare_calls.items() if name not in found]
            return PreparePlan(Preparing(tunings=tunings, teacher=has_teacher), tuple(made))
        first = self._runs.get(_key(run), run.name)
        if first != run.name:
            return PreparePlan(Preparing(runs=(first,)))
        return PreparePlan(made=tuple(run.prepare_calls.values()))


@cache
def find_prepare_plans(cell: Cell) -> PreparePlans:
    """Return the `PreparePlans` of a cell; they are computed only once."""
    return PreparePlans(cell)


def _key(run: RunSpec) -> tuple[str | None, ...]:
    """Return a key that is equal for runs that read the same files of `prepare`.

    If tuned parameters change these files, the key includes the name of the tuning.
    """
    return (*run.prepare_calls, run.tuned_by if len(run.prepare_calls) > 1 else None)


class Tuning(Part):
    """The tuning that selects parameters of a run; all rounds use the tuning of round 1."""

    cell: str
    method: str


class MethodJob(Job):
    """Description of a job that runs a method."""

    cell: str
    seed: int
    model: str
    freeze: tuple[str, ...] = ()  # parts of the model that never train
    method: str  # folder of the method
    params: dict[str, Any]  # values of the config and defaults; tuning may replace some
    tuning: Tuning | None = None

    @property
    def inputs(self) -> Inputs:
        """Data, forget set, and the parameters that tuning selected."""
        found: Inputs = {"data": layout.DATA, "split": self.path(layout.SPLIT)}
        if self.tuning:
            tuned = layout.TUNE.format(cell=self.tuning.cell, method=self.tuning.method)
            found["selected"] = f"{tuned}/{layout.SELECTED}"
        return found


class StartedJob(MethodJob):
    """Description of a job that runs a method on the base model, or on the round before."""

    base_seed: int
    before: str | None = None  # cell of the round before, whose model of the same run is the start
    preparing: Preparing = Preparing()

    @property
    def base(self) -> str:
        """Weights at the start: the base model's or, after round 1, those of the round before."""
        folder = layout.RUN if self.before else layout.BASE
        seed = self.seed if self.before else self.base_seed
        return f"{self.path(folder, cell=self.before, seed=seed)}/{layout.MODEL}"

    @property
    def preparing_folders(self) -> list[str]:
        """Folders of the jobs that run `prepare` for this job."""
        found = self.preparing
        folders = [self.path(layout.TUNE, method=name) for name in found.tunings]
        folders += [self.path(layout.TEACHER)] if found.teacher else []
        return folders + [self.path(layout.RUN, run=name) for name in found.runs]

    @property
    def inputs(self) -> Inputs:
        """Data, forget set, weights at the start, and records of jobs that run `prepare`."""
        # These inputs are not `ancient`, because Snakemake 9.27 would then keep outdated outputs.
        prepared = [f"{folder}/{layout.RECORD}" for folder in self.preparing_folders]
        more: Inputs = {"prepared": prepared} if prepared else {}
        return {**super().inputs, "base": self.base, **more}


class PlannedMethod(PlannedInCell):
    """A job that runs an unlearning method on the model of one seed."""

    @property
    def spec(self) -> RunSpec:
        """The method and its parameters."""
        raise NotImplementedError

    @property
    def values(self) -> dict[str, Any]:
        """Model, method, parameters, and where it starts."""
        run, others = self.spec, self.prepare_plan.others
        about = {"model": self.model, "method": run.method.uses, "seed": self.seed}
        about |= {"freeze": self.benchmark.config.freeze}
        about |= {"params": run.params.model_dump(mode="json"), "tuning": self.tuning}
        if not issubclass(self.describes, StartedJob):
            return about
        return {**about, "base_seed": self.benchmark.base_seed(self.seed), "preparing": others}

    @property
    def tuning(self) -> Tuning | None:
        """The tuning that selects parameters of the run; None if nothing is tuned."""
        first = [*self.cell.forget.earlier, self.cell.name][0]
        tuned_by = self.spec.tuned_by
        return Tuning(cell=first, method=tuned_by) if tuned_by else None

    @property
    def prepare_plan(self) -> PreparePlan:
        """The jobs that run `prepare` for this job, and the calls of `prepare` in this job."""
        return PreparePlan()

    @property
    def precision(self) -> str:
        """Precision in which the method trains."""
        return str(getattr(self.spec.params, "precision", FLOAT32))

    @property
    def work(self) -> Work:
        """Estimated amount of computation of the calls of `prepare` in this job."""
        return self.workload.prepare(self.cell, self.prepare_plan.made)

    @property
    def prepared_numbers(self) -> int:
        """Number of float32 values in the largest result of `prepare`, made here or read."""
        uses, sizes = self.spec.method.uses, self.workload.sizes(self.cell)
        methods = [one for choice in self.spec.choices for one in _with_parts(uses, choice)]
        numbers = [params.prepared_numbers(sizes) for n, params in methods if prepare_class(n)]
        return max(numbers, default=0)

    @property
    def bytes(self) -> float:
        """Disk space of the files that `prepare` writes in this job, in bytes."""
        sizes = self.workload.sizes(self.cell)
        return FLOAT_BYTES * sum(p.prepared_numbers(sizes) for p in self.prepare_plan.made)

    @property
    def code(self) -> str:
        """Fingerprint of the stage, and of all methods and models that the parameters name."""
        run = self.spec
        # Tuning also runs the default parameters, which may name another teacher model.
        choices = run.trial_params if self.kind_name == "tune" else run.choices
        inner = [params for one in choices for params in one.with_parts()]
        values = {str(value) for params in inner for value in params.model_dump().values()}
        models = sorted({self.model, *values.intersection(MODEL.names())})
        modules = [method_kind(name).module(name, "method") for name in sorted(run.methods)]
        return stage_code(self.kind_name, *modules, *map(MODEL.module, models))


def _with_parts(name: str, params: MethodParams) -> Iterator[tuple[str, MethodParams]]:
    """Yield name and parameters of a method, and of all methods that it runs."""
    yield name, params
    for part in params.parts:
        yield from _with_parts(*part)


class PlannedFirstSeed(PlannedMethod):
    """A job of a method that runs only for the first seed."""

    @property
    def seed(self) -> int:
        """First seed of the benchmark."""
        return self.benchmark.seeds[0]

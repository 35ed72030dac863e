"""Base classes of jobs that run an unlearning method, and the choice of jobs that run `prepare`.

Several jobs may need the same files of a method's `prepare`. The first of these jobs makes the
files; the others read them.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collateral.contract.params import MethodParams
from collateral.contract.work import FLOAT32, Work
from collateral.jobs._job import CellJob, Record
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import Cell, RunSpec
from collateral.plan.work import FLOAT_BYTES
from collateral.plugins.find import MODEL, method_kind, params_class
from collateral.results import layout
from collateral.results.files import read_json


@dataclass(frozen=True)
class PreparePlan:
    """Which other jobs run `prepare` for a job, and for which parameters the job runs it itself."""

    tunings: tuple[str, ...] = ()  # names of methods whose tuning jobs run `prepare`
    runs: tuple[str, ...] = ()  # names of runs of the same seed whose jobs run `prepare`
    teacher: bool = False  # whether the job of the cell's teacher runs `prepare`
    made: tuple[MethodParams, ...] = ()  # parameters for which this job runs `prepare` itself


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
        return PreparePlan(tunings=tuple(others), teacher=has_teacher, made=tuple(made))

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
            return PreparePlan(tunings=tunings, teacher=has_teacher, made=tuple(made))
        first = self._runs.get(_key(run), run.name)
        if first != run.name:
            return PreparePlan(runs=(first,))
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


DONE_FILES = (layout.RECORD, layout.COST)  # names of the files that every finished job has


class MethodJob(CellJob):
    """A job that runs an unlearning method on the model of one seed."""

    @property
    def spec(self) -> RunSpec:
        """The method and its parameters."""
        raise NotImplementedError

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the output files from which tables, figures and pages are made."""
        return (self.evaluated, *DONE_FILES)

    @property
    def base(self) -> str:
        """Path of the base model's weights, from which the method starts."""
        return self.base_file(layout.MODEL, self.seed)

    @property
    def selected(self) -> list[str]:
        """File with the parameters that tuning selected; empty if nothing is tuned."""
        tuned_by = self.spec.tuned_by
        return [self._selected_file(tuned_by)] if tuned_by else []

    def _selected_file(self, method: str) -> str:
        """Return the path of tuning's selected.json; all rounds use the file of round 1."""
        first = [*self.cell.forget.earlier, self.cell.name][0]
        return self.path(paths.SELECTED, method=method, cell=first)

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
    def bytes(self) -> float:
        """Disk space of the files that `prepare` writes in this job, in bytes."""
        sizes = self.workload.sizes(self.cell)
        return FLOAT_BYTES * sum(p.prepared_numbers(sizes) for p in self.prepare_plan.made)

    @property
    def _preparing_folders(self) -> list[str]:
        """Folders of the jobs that run `prepare` for this job."""
        found = self.prepare_plan
        folders = [self.path(paths.TUNE, method=name) for name in found.tunings]
        folders += [self.path(paths.TEACHER)] if found.teacher else []
        return folders + [self.path(paths.RUN, seed=self.seed, run=name) for name in found.runs]

    @property
    def prepared(self) -> list[str]:
        """Folders with files that `prepare` wrote in other jobs, and that this job may read."""
        return [paths.prepared(folder) for folder in self._preparing_folders]

    @property
    def prepared_by(self) -> list[str]:
        """Cost files, which are written last, of the jobs that run `prepare` for this job."""
        # These inputs are not `ancient`, because Snakemake 9.27 would then keep outdated outputs.
        return [paths.cost(folder) for folder in self._preparing_folders]

    @property
    def code(self) -> str:
        """Fingerprint of the stage, the method, and all models that the parameters name."""
        run, uses = self.spec, self.spec.method.uses
        # Tuning also runs the default parameters, which may name another teacher model.
        choices = run.trial_params if self.kind_name == "tune" else run.choices
        values = {str(value) for params in choices for value in params.model_dump().values()}
        models = sorted({self.model, *values.intersection(MODEL.names())})
        method = method_kind(uses).module(uses, "method")
        return stage_code(self.kind_name, method, *map(MODEL.module, models))

    def final_params(self, found: Record, folder: Path) -> Record:
        """Return all parameters of a run; tuned parameters have the values that tuning selected."""
        params = params_class(self.spec.method.uses)
        values = {
            **self.spec.params.model_dump(mode="json"),
            **self._selected_values(found, folder),
        }
        known = {key: value for key, value in values.items() if key in params.model_fields}
        return params.model_validate({**known, **self.spec.vary}).model_dump(mode="json")

    def _selected_values(self, found: Record, folder: Path) -> Record:
        """Return the values that tuning selected, from selected.json or from the record `found`."""
        if not self.spec.tuned_by:
            return {}
        selected = folder / self.below(self._selected_file(self.spec.tuned_by))
        if selected.exists():
            chosen: Record = read_json(selected)["params"]
            return chosen
        grid = self.cell.runs[self.spec.tuned_by].method.grid
        return {key: found[key] for key in grid if key in found}


class FirstSeedJob(MethodJob):
    """A job of a method that runs only for the first seed."""

    @property
    def seed(self) -> int:
        """First seed of the benchmark."""
        return self.benchmark.seeds[0]


def method_options(run: RunSpec) -> list[str]:
    """Return the command-line options for a method and its parameters."""
    return ["--method", run.method.uses, "--params", run.params.model_dump_json()]

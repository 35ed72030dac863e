"""Base classes of jobs that run an unlearning method."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import RunSpec
from collateral.plan.jobs._job import CellJob, Record
from collateral.plan.preparation import Preparation
from collateral.plugins.find import MODEL, method_kind, params_class
from collateral.results import layout
from collateral.results.files import read_json
from collateral.results.provenance import INPUTS

DONE_FILES = (layout.RECORD, layout.COST)


class MethodJob(CellJob):
    """A job that runs an unlearning method on the model of one seed."""

    needs: ClassVar[tuple[str, ...]] = ("data", "split", "base")
    remedy = "train it"

    if TYPE_CHECKING:

        @property
        def seed(self) -> int:
            """Seed of the model and of all random choices."""

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
        seed = self.benchmark.base_seed(self.seed)
        return self.path(paths.run_files(paths.BASE)["model"], seed=seed)

    @property
    def selected(self) -> list[str]:
        """File with the parameters that tuning selected; empty if nothing is tuned."""
        tuned_by = self.spec.tuned_by
        return [self._selected_file(tuned_by)] if tuned_by else []

    def _selected_file(self, method: str) -> str:
        """Return the file with the choice of tuning, which is of round 1 in all rounds."""
        first = [*self.cell.forget.earlier, self.cell.name][0]
        return self.path(paths.SELECTED, method=method, cell=first)

    @property
    def preparation(self) -> Preparation:
        """Jobs that run `prepare` for this job, and the preparations that it runs itself."""
        return Preparation()

    @property
    def _preparing(self) -> list[str]:
        """Folders of the jobs whose prepared files this job reads."""
        found = self.preparation
        folders = [self.path(paths.TUNE, method=name) for name in found.tunings]
        folders += [self.path(paths.TEACHER)] if found.teacher else []
        return folders + [self.path(paths.RUN, seed=self.seed, run=name) for name in found.runs]

    @property
    def prepared(self) -> list[str]:
        """Folders of prepared files that this job may read."""
        return [paths.prepared(folder) for folder in self._preparing]

    @property
    def prepared_by(self) -> list[str]:
        """Files that show that the jobs with the prepared files are finished."""
        # Not `ancient`: Snakemake 9.27 would keep stale files of jobs that wait for ancient inputs.
        return [paths.cost(folder) for folder in self._preparing]

    @property
    def code(self) -> str:
        """Fingerprint of the stage, the method and the models."""
        return method_code(type(self).__module__.rpartition(".")[2], self.spec, self.model)

    def method_record(self, *files: str) -> Record:
        """Return the record fields that all jobs with a method share; `files` are inputs."""
        return {
            "model": self.model,
            "code": self.code,
            "seed": self.seed,
            INPUTS: self.record_inputs(self.split, *files),
        }

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
        """Return the values that tuning selected; from the record if tuning's file is missing."""
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


@cache
def method_code(stage: str, run: RunSpec, model: str) -> str:
    """Return the fingerprint of a stage, a method, and the models that it may build by name."""
    # Tuning also runs the default parameters, which may name another teacher model.
    choices = run.trial_params if stage == "tune" else run.choices
    values = {str(value) for params in choices for value in params.model_dump().values()}
    models = {model, *values.intersection(MODEL.names())}
    uses = run.method.uses
    return stage_code(
        stage, method_kind(uses).module(uses, "method"), *sorted(map(MODEL.module, models))
    )

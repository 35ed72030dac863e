"""Jobs that run a method."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from collateral.contract.plugins import MODEL, method_kind, params_class
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.grid import RunSpec
from collateral.plan.jobs._job import CellJob, Record
from collateral.plan.preparation import Preparation
from collateral.results import layout
from collateral.results.files import read_json
from collateral.results.provenance import INPUTS

DONE_FILES = (layout.RECORD, layout.COST)


class MethodJob(CellJob):
    """A job that runs a method on the model of a seed."""

    needs: ClassVar[tuple[str, ...]] = ("data", "split", "base")
    remedy = "train it"

    if TYPE_CHECKING:

        @property
        def seed(self) -> int:
            """The seed of the model, and of all that is drawn."""

    @property
    def spec(self) -> RunSpec:
        """The method and its values."""
        raise NotImplementedError

    @property
    def files(self) -> tuple[str, ...]:
        """The files that tables, figures and pages are made from."""
        return (self.evaluated, *DONE_FILES)

    @property
    def base(self) -> str:
        """The weights that it starts from."""
        seed = self.benchmark.base_seed(self.seed)
        return self.path(paths.run_files(paths.BASE)["model"], seed=seed)

    @property
    def selected(self) -> list[str]:
        """The file with the values that tuning chose, if some are tuned."""
        tuned_by = self.spec.tuned_by
        return [self.path(paths.SELECTED, method=tuned_by)] if tuned_by else []

    @property
    def preparation(self) -> Preparation:
        """The jobs that prepare for this one, and what it has to prepare itself."""
        return Preparation()

    @property
    def _preparing(self) -> list[str]:
        """The folders of jobs that prepare for this one."""
        found = self.preparation
        folders = [self.path(paths.TUNE, method=name) for name in found.tunings]
        folders += [self.path(paths.TEACHER)] if found.teacher else []
        return folders + [self.path(paths.RUN, seed=self.seed, run=name) for name in found.runs]

    @property
    def prepared(self) -> list[str]:
        """The folders of prepared files that this job may read."""
        return [paths.prepared(folder) for folder in self._preparing]

    @property
    def prepared_by(self) -> list[str]:
        """The files that tell that those jobs are done and have written what they prepared."""
        # Not ancient: after a job that reruns, Snakemake (9.27) compares no value of the jobs that
        # wait for it, and those that wait for something ancient would keep stale files.
        return [paths.cost(folder) for folder in self._preparing]

    @property
    def code(self) -> str:
        """The fingerprint of the stage, its method and its models."""
        return method_code(type(self).__module__.rpartition(".")[2], self.spec, self.model)

    def method_record(self, *files: str) -> Record:
        """Return the fields of a record of all jobs that run a method; `files` are inputs."""
        return {
            "model": self.model,
            "code": self.code,
            "seed": self.seed,
            INPUTS: self.record_inputs(self.split, *files),
        }

    def final_params(self, found: Record, folder: Path) -> Record:
        """Return all values of a run; tuned ones as tuning chose them."""
        params = params_class(self.spec.method.uses)
        values = {**self.spec.params.model_dump(mode="json"), **self._chosen(found, folder)}
        known = {key: value for key, value in values.items() if key in params.model_fields}
        return params.model_validate({**known, **self.spec.vary}).model_dump(mode="json")

    def _chosen(self, found: Record, folder: Path) -> Record:
        """Return the values that tuning chose; if its file is missing, those of the record."""
        if not self.spec.tuned_by:
            return {}
        selected = folder / self.below(self.path(paths.SELECTED, method=self.spec.tuned_by))
        if selected.exists():
            chosen: Record = read_json(selected)["params"]
            return chosen
        grid = self.cell.runs[self.spec.tuned_by].method.grid
        return {key: found[key] for key in grid if key in found}


class FirstSeedJob(MethodJob):
    """A job of a method that runs on the first seed alone."""

    @property
    def seed(self) -> int:
        """The first seed."""
        return self.benchmark.seeds[0]


def method_options(run: RunSpec) -> list[str]:
    """Return the options for a method and its parameters."""
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
        stage, method_kind(uses).module(uses, "method"), *sorted(map(MODEL.module, models))
    )

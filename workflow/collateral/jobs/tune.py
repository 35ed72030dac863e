"""Job that runs all trials of a method for the first seed, and selects its parameters."""

from collateral.contract.work import Work
from collateral.jobs._job import Record, as_json
from collateral.jobs._method import (
    DONE_FILES,
    FirstSeedJob,
    PreparePlan,
    find_prepare_plans,
    method_options,
)
from collateral.plan import paths
from collateral.plan.grid import RunSpec
from collateral.results import layout


class TuneJob(FirstSeedJob):
    """Tuning of one method."""

    folder = paths.TUNE
    cell_attribute = "tuned"
    files = (layout.TRIALS, layout.SELECTED, *DONE_FILES)
    evaluated = layout.TRIALS

    method: str

    @property
    def spec(self) -> RunSpec:
        """The method and its parameters."""
        return self.cell.runs[self.method]

    @property
    def arguments(self) -> list[str]:
        """Options with the method, its parameters, its trials and the selection rule."""
        method, rule = self.spec.method, self.benchmark.config.select
        trials, default = as_json(method.trials()), as_json(method.default_trial())
        tuning = ["--trials", trials, "--default", default, "--select", rule]
        return [*method_options(self.spec), *tuning]

    @property
    def teacher(self) -> list[str]:
        """File with the teacher's accuracy on the forget set, if the selection rule uses it."""
        return [self.path(paths.TEACHER_SAYS)] if self.cell.teacher else []

    @property
    def prepare_plan(self) -> PreparePlan:
        """The jobs that run `prepare` for this job, and the calls of `prepare` in this job."""
        return find_prepare_plans(self.cell).for_tuning(self.spec)

    @property
    def work(self) -> Work:
        """Estimated amount of computation of `prepare` and all trials, with one evaluation each."""
        params, workload = self.spec.trial_params, self.workload
        trials = workload.unlearn(self.cell, params) + workload.evaluation * len(params)
        return trials + super().work

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code."""
        method = self.spec.method
        return {
            **self.model_record(self.split, self.base, *self.teacher),
            "trials": [method.trials(), as_json(method.default_trial())],
            "params": self.spec.params.model_dump(mode="json"),
            "select": self.benchmark.config.select,
        }

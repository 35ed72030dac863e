"""Job that runs all trials of a method for the first seed, and selects its parameters."""

from typing import Any

from collateral.contract.conventions import Rule
from collateral.contract.work import Work
from collateral.jobs._job import Inputs
from collateral.jobs._method import PlannedFirstSeed, PreparePlan, StartedJob, find_prepare_plans
from collateral.plan.grid import RunSpec
from collateral.results import layout


class TuneJob(StartedJob):
    """Tuning of one method."""

    folder = layout.TUNE.replace("{method}", "{name}")

    name: str  # name of the method in the config
    trials: tuple[dict[str, Any], ...]  # values of the tuned parameters in each trial
    default: dict[str, Any] | None  # default values, which are run too
    select: Rule
    has_teacher: bool = False  # whether the selection rule uses a teacher of LTD

    @property
    def inputs(self) -> Inputs:
        """Inputs of every method, and the accuracy of the teacher if there is one."""
        file = f"{self.path(layout.TEACHER)}/{layout.TEACHER_RESULT}"
        teacher: Inputs = {"teacher": file} if self.has_teacher else {}
        return {**super().inputs, **teacher}

    @property
    def files(self) -> dict[str, str]:
        """All trials, and the parameters of the selected one."""
        return self.in_folder(trials=layout.TRIALS, selected=layout.SELECTED)


class PlannedTune(PlannedFirstSeed):
    """Planned job that tunes a method in one cell."""

    describes = TuneJob
    cell_attribute = "tuned"
    evaluated = layout.TRIALS

    method: str

    @property
    def spec(self) -> RunSpec:
        """The method and its parameters."""
        return self.cell.runs[self.method]

    @property
    def tuning(self) -> None:
        """None: this job is the tuning."""
        return

    @property
    def values(self) -> dict[str, Any]:
        """Values of every method, and the trials with the rule that selects one."""
        method, config = self.spec.method, self.benchmark.config
        trials = {"trials": method.trials(), "default": method.default_trial()}
        about = {
            "name": self.method,
            "select": config.select,
            "has_teacher": bool(self.cell.teacher),
        }
        return {**super().values, **trials, **about}

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

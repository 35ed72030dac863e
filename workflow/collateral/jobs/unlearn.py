"""Job of one run of a method or control; a tracked run is evaluated after every epoch."""

from typing import Any, Literal

from pydantic import Field

from collateral.contract.work import Work
from collateral.jobs._job import Inputs
from collateral.jobs._method import PlannedMethod, PreparePlan, StartedJob, find_prepare_plans
from collateral.plan.grid import RunSpec
from collateral.results import layout


class UnlearnJob(StartedJob):
    """One run of a method or control, for one seed."""

    folder = layout.RUN

    run: str
    vary: dict[str, Any] = Field(
        default_factory=dict
    )  # values that a sweep varies; they replace those of tuning
    track: bool = False  # whether the model is evaluated after every epoch
    # Whether a control reads Retrain's soft labels; `start`: it also starts from Retrain's weights.
    needs_retrain: bool | Literal["start"] = False

    @property
    def base(self) -> str:
        """Weights at the start: those of Retrain for a control that starts there."""
        if self.needs_retrain != "start":
            return super().base
        return f"{self.path(layout.RUN, run=layout.RETRAIN)}/{layout.MODEL}"

    @property
    def inputs(self) -> Inputs:
        """Inputs of every method, and Retrain's outputs for a control that needs them."""
        retrain = self.path(layout.RUN, run=layout.RETRAIN)
        retrained: Inputs = {"retrained": f"{retrain}/{layout.OUTPUTS}"}
        return {**super().inputs, **(retrained if self.needs_retrain else {})}

    @property
    def files(self) -> dict[str, str]:
        """Weights, outputs and history; outputs by epoch of a tracked run."""
        epochs = {"epochs": layout.EPOCHS} if self.track else {}
        return self.in_folder(**layout.MODEL_FILES, **epochs)


class PlannedUnlearn(PlannedMethod):
    """Planned job that runs a method or control for one seed."""

    describes = UnlearnJob
    cell_attribute = "unlearned"
    evaluated = layout.OUTPUTS

    seed: int
    run: str

    @property
    def is_planned(self) -> bool:
        """Whether the run has a model for this seed."""
        return self.benchmark.has_run(self.spec, self.seed)

    @property
    def spec(self) -> RunSpec:
        """The method and its parameters."""
        return self.cell.runs[self.run]

    @property
    def rule(self) -> str:
        """Name of the Snakemake rule; the rule of tracked runs has one more output file."""
        return "track" if self.spec.tracked else "unlearn"

    @property
    def values(self) -> dict[str, Any]:
        """Values of every method, and those of this run."""
        run, earlier = self.spec, self.cell.forget.earlier
        about = {"vary": dict(run.vary), "track": run.tracked, "needs_retrain": run.needs_retrain}
        return {**super().values, **about, "before": earlier[-1] if earlier else None}

    @property
    def prepare_plan(self) -> PreparePlan:
        """The jobs that run `prepare` for this job, and the calls of `prepare` in this job."""
        found = find_prepare_plans(self.cell)
        return found.for_run(self.spec, is_first_seed=self.seed == self.benchmark.seeds[0])

    @property
    def work(self) -> Work:
        """Estimated amount of computation of the run.

        With tuning, it is the mean over all parameters that tuning may select.
        """
        run, workload = self.spec, self.workload
        unlearning = workload.unlearn(self.cell, run.choices) * (1 / len(run.choices))
        num_evaluated = 1 + (workload.num_tracked(self.cell, run) if run.tracked else 0)
        prepared = workload.prepare(self.cell, self.prepare_plan.made)
        share = prepared * (1 / max(1, len(run.prepare_calls)))
        return unlearning + workload.evaluation * num_evaluated + share

    @property
    def bytes(self) -> float:
        """Bytes of the run's files and of those that `prepare` writes for one set of parameters."""
        run = self.spec
        tracked = self.workload.tracked_bytes(self.cell, run) if run.tracked else 0
        return self.workload.run_bytes + tracked + super().bytes / max(1, len(run.prepare_calls))

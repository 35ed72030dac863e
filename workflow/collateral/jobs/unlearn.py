"""Job of one run of a method or control; a tracked run is evaluated after every epoch."""

from pathlib import Path

from collateral.contract.work import Work
from collateral.jobs._job import Record, as_json
from collateral.jobs._method import MethodJob, PreparePlan, find_prepare_plans, method_options
from collateral.jobs._weights import RUN_FILES
from collateral.plan import paths
from collateral.plan.grid import RunSpec
from collateral.results import layout


class UnlearnJob(MethodJob):
    """One run of a method or control, for one seed."""

    folder = paths.RUN
    cell_attribute = "unlearned"
    evaluated = layout.OUTPUTS

    seed: int
    run: str

    @property
    def spec(self) -> RunSpec:
        """The method and its parameters."""
        return self.cell.runs[self.run]

    @property
    def rule(self) -> str:
        """Name of the Snakemake rule; the rule of tracked runs has one more output file."""
        return "track" if self.spec.tracked else "unlearn"

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the output files from which tables, figures and pages are made."""
        return (*RUN_FILES, layout.EPOCHS) if self.spec.tracked else RUN_FILES

    @property
    def arguments(self) -> list[str]:
        """Command-line options: the run's name, its method, and its parameters in the config."""
        run = self.spec
        vary, track = ["--vary", as_json(run.vary)], ["--track"] if run.tracked else []
        return ["--run", run.name, *method_options(run), *vary, *track]

    @property
    def base(self) -> str:
        """Weights at the start: the base model's or, after round 1, those of the previous round."""
        earlier = self.cell.forget.earlier
        return (
            f"{self.path(paths.RUN, cell=earlier[-1])}/{layout.MODEL}" if earlier else super().base
        )

    @property
    def prepare_plan(self) -> PreparePlan:
        """The jobs that run `prepare` for this job, and the calls of `prepare` in this job."""
        found = find_prepare_plans(self.cell)
        return found.for_run(self.spec, is_first_seed=self.seed == self.benchmark.seeds[0])

    @property
    def retrained(self) -> list[str]:
        """Retrain's outputs for a control that needs them; empty for a method."""
        outputs = f"{self.path(paths.RETRAIN)}/{layout.OUTPUTS}"
        return [outputs] if self.spec.needs_retrain else []

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

    def record(self, found: Record, folder: Path) -> Record:
        """Return the record that the job would write with the current config and code."""
        params = self.final_params(found["params"], folder)
        record = self.model_record(self.split, self.base, *self.selected, *self.retrained)
        return {**record, "run": self.run, "params": params}

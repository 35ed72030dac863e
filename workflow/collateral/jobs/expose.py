"""Job that runs a method on shadow models (U-LiRA), with the method's parameters in the cell."""

from pathlib import Path

from collateral.contract.work import Work, inference_work
from collateral.jobs._job import Record
from collateral.jobs._method import FirstSeedJob, method_options
from collateral.plan import paths
from collateral.plan.grid import RunSpec
from collateral.plan.work import BLOCK, RUN_BLOCKS
from collateral.results import layout

# Bytes per example and shadow model: one for membership, and two float32 margins.
EXPOSED_BYTES = 1 + 4 + 4


class ExposeJob(FirstSeedJob):
    """Runs one method on each attacked shadow model, with random numbers of the first seed."""

    folder = paths.EXPOSURE
    cell_attribute = "exposed"
    evaluated = layout.EXPOSURE_MARGINS

    run: str

    @property
    def spec(self) -> RunSpec:
        """The method and its parameters."""
        return self.cell.runs[self.run]

    @property
    def arguments(self) -> list[str]:
        """Command-line options: the run's name, its method, and its parameters in the config."""
        return ["--run", self.run, *method_options(self.spec)]

    @property
    def shadows(self) -> list[str]:
        """Weight files of all shadow models that are attacked, in order.

        If the first half of the pool chose the forget set, only the second half is attacked.
        """
        pattern, count = paths.shadow_files(paths.SHADOW)["model"], self.benchmark.pool.count
        first = count // 2 if self.cell.forget.needs == "shadows" else 0
        return [self.path(pattern, member=n) for n in range(first, count)]

    @property
    def work(self) -> Work:
        """Estimated amount of computation of unlearning from all shadow models.

        With a grid of parameters, it is the mean over the grid.
        """
        choices, workload = self.spec.choices, self.workload
        work = workload.unlearn(self.cell, choices)
        if self.spec.prepare_calls:
            work += workload.prepare(self.cell, choices)
        evaluation = inference_work(workload.size.num_train)
        # A shadow model was trained on this share of the examples, and unlearns with them alone.
        each = work * (self.benchmark.pool.share / len(choices)) + evaluation
        return each * len(self.shadows)

    @property
    def bytes(self) -> float:
        """Disk space of the margins of all shadow models, in bytes."""
        margins = EXPOSED_BYTES * len(self.shadows) * self.workload.size.num_train
        return margins + RUN_BLOCKS * BLOCK

    def record(self, found: Record, folder: Path) -> Record:
        """Return the record that the job would write with the current config and code."""
        margins = [file.replace(layout.MODEL, layout.MARGINS) for file in self.shadows]
        record = self.model_record(self.split, *self.shadows, *margins, *self.selected)
        return {**record, "run": self.run, "params": self.final_params(found["params"], folder)}

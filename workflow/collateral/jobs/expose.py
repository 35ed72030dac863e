"""Job that runs a method on shadow models (U-LiRA), with the method's parameters in the cell."""

from typing import Any

from collateral.contract.work import Work, inference_work
from collateral.jobs._job import Inputs
from collateral.jobs._method import MethodJob, PlannedFirstSeed
from collateral.plan.grid import RunSpec
from collateral.plan.work import BLOCK, RUN_BLOCKS
from collateral.results import layout

# Bytes per example and shadow model: one for membership, and two float32 margins.
EXPOSED_BYTES = 1 + 4 + 4


class ExposeJob(MethodJob):
    """One method on each attacked shadow model, with random numbers of the first seed."""

    folder = layout.EXPOSURE

    run: str
    first: int  # the shadow models from `first` to `count` are attacked
    count: int

    @property
    def inputs(self) -> Inputs:
        """Inputs of every method; weights and margins of the attacked shadow models."""
        folders = [self.path(layout.SHADOW, member=n) for n in range(self.first, self.count)]
        shadows = [f"{folder}/{layout.MODEL}" for folder in folders]
        margins = [f"{folder}/{layout.MARGINS}" for folder in folders]
        return {**super().inputs, "shadows": shadows, "margins": margins}

    @property
    def files(self) -> dict[str, str]:
        """Margins of all shadow models, before and after unlearning."""
        return self.in_folder(exposed=layout.EXPOSURE_MARGINS)


class PlannedExpose(PlannedFirstSeed):
    """Planned job that unlearns with one method from every shadow model."""

    describes = ExposeJob
    cell_attribute = "exposed"
    evaluated = layout.EXPOSURE_MARGINS

    run: str

    @property
    def spec(self) -> RunSpec:
        """The method and its parameters."""
        return self.cell.runs[self.run]

    @property
    def members(self) -> range:
        """Numbers of the attacked shadow models.

        If the first half of the pool chose the forget set, only the second half is attacked.
        """
        count = self.benchmark.pool.count
        return range(count // 2 if self.cell.forget.needs == "shadows" else 0, count)

    @property
    def values(self) -> dict[str, Any]:
        """Values of every method, and which shadow models are attacked."""
        return {**super().values, "first": self.members.start, "count": self.members.stop}

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
        return each * len(self.members)

    @property
    def bytes(self) -> float:
        """Disk space of the margins of all shadow models, in bytes."""
        margins = EXPOSED_BYTES * len(self.members) * self.workload.size.num_train
        return margins + RUN_BLOCKS * BLOCK

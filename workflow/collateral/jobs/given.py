"""Job that evaluates an unlearned model that the user provides; nothing is trained."""

from pathlib import Path

from collateral.jobs._job import Inputs, OwnFile, PlannedInCell
from collateral.jobs._weights import PlannedWeights, WeightsJob
from collateral.results import layout


class GivenJob(WeightsJob):
    """Evaluation of a file of unlearned weights."""

    folder = layout.RUN

    cell: str
    seed: int
    run: str

    @property
    def inputs(self) -> Inputs:
        """The data set and the forget set."""
        return {**super().inputs, "split": self.path(layout.SPLIT)}


class PlannedGiven(PlannedWeights, PlannedInCell):
    """Planned job that evaluates a model which another program has unlearned."""

    describes = GivenJob
    cell_attribute = "given"

    seed: int
    run: str

    @property
    def own(self) -> tuple[OwnFile, Path] | None:
        """User's weight file for the cell and the seed."""
        return self.find_file(f"given.{self.run}.weights", self.cell.given[self.run])

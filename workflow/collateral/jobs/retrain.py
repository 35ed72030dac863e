"""Job of the reference Retrain: a model trained without the forget set, or the user's weights."""

from pathlib import Path

from collateral.jobs._job import Inputs, OwnFile, PlannedInCell
from collateral.jobs._weights import PlannedWeights, TrainedJob
from collateral.results import layout


class RetrainJob(TrainedJob):
    """Training of the retrained model of one seed."""

    folder = layout.RUN.replace("{run}", layout.RETRAIN)

    cell: str

    @property
    def inputs(self) -> Inputs:
        """The data set and the forget set."""
        return {**super().inputs, "split": self.path(layout.SPLIT)}


class PlannedRetrain(PlannedWeights, PlannedInCell):
    """Planned job that trains Retrain for one seed."""

    describes = RetrainJob
    cell_attribute = "has_retrain"

    seed: int

    @property
    def own(self) -> tuple[OwnFile, Path] | None:
        """Weights that the user gives for this model, or None if the model is trained."""
        return self.find_file("retrain.weights", self.benchmark.config.retrain)

    @property
    def num_trained(self) -> int:
        """Number of retained examples."""
        return self.workload.sizes(self.cell).retain

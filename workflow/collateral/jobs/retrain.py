"""Job of the reference Retrain: a model trained without the forget set, or the user's weights."""

from collateral.jobs._job import CellJob, OwnFile, Record
from collateral.jobs._weights import WeightsJob
from collateral.plan import paths
from collateral.results import layout
from collateral.results.provenance import INPUTS


class RetrainJob(WeightsJob, CellJob):
    """Training of the retrained model of one seed."""

    folder = paths.RETRAIN
    cell_attribute = "has_retrain"

    seed: int

    @property
    def own(self) -> OwnFile | None:
        """Weights that the user gives for this model, or None if the model is trained."""
        return self.find_file("retrain.weights", self.benchmark.config.retrain)

    @property
    def num_trained(self) -> int:
        """Number of retained examples."""
        return self.workload.sizes(self.cell).retain

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code."""
        inputs = self.record_inputs(self.split)
        return {"run": layout.RETRAIN, **self.training_record(found), INPUTS: inputs}

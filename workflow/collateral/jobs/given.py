"""Job that evaluates an unlearned model that the user provides; nothing is trained."""

from collateral.jobs._job import CellJob, OwnFile, Record
from collateral.jobs._weights import WeightsJob
from collateral.plan import paths


class GivenJob(WeightsJob, CellJob):
    """Evaluation of a file of unlearned weights."""

    folder = paths.RUN
    cell_attribute = "given"
    stage = "given"

    seed: int
    run: str

    @property
    def own(self) -> OwnFile | None:
        """User's weight file for the cell and the seed."""
        return self.find_file(f"given.{self.run}.weights", self.cell.given[self.run])

    @property
    def arguments(self) -> list[str]:
        """Options with the run's name, its weight file, and the seconds that unlearning took."""
        return ["--run", self.run, *self.start_arguments]

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code."""
        return {"run": self.run, **self.model_record(self.split), **self.weights_record(found)}

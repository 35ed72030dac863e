"""Job that computes the similarity of every example to the forget set."""

from pathlib import Path

from collateral.jobs._job import CellJob, Record
from collateral.plan import paths
from collateral.plan.work import FLOAT_BYTES
from collateral.results import layout
from collateral.results.provenance import INPUTS


class NeighboursJob(CellJob):
    """Computation of similarities from the data set and the embeddings of the base models."""

    folder = paths.CELL
    record_file = Path(layout.NEIGHBOURS_RECORD).name
    files = (Path(layout.NEIGHBOURS).name, record_file)
    seconds = 0.1

    @property
    def embeddings(self) -> list[str]:
        """Files with the embeddings of the base model, one per seed."""
        return [self.base_file(layout.EMBEDDINGS, seed) for seed in self.seeds]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of the benchmark."""
        return self.benchmark.seeds

    @property
    def bytes(self) -> float:
        """Disk space of one similarity per seed and example, in bytes."""
        return FLOAT_BYTES * len(self.seeds) * self.workload.size.num_examples

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code."""
        inputs = self.record_inputs(self.split, *self.embeddings)
        return {"seeds": [*self.seeds], "code": self.code, INPUTS: inputs}

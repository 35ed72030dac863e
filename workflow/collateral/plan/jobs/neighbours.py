"""The similarity of every example to the forget set."""

from __future__ import annotations

from pathlib import Path

from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.jobs._disk import FLOAT_BYTES
from collateral.plan.jobs._job import CellJob, Record
from collateral.results import layout
from collateral.results.provenance import INPUTS


class NeighboursJob(CellJob):
    """Similarities, from the data set and the base models' embeddings."""

    needs = ("data", "split", "base")
    folder = paths.CELL
    record_file = Path(layout.NEIGHBOURS_RECORD).name
    files = (Path(layout.NEIGHBOURS).name, record_file)
    remedy = "make it"
    seconds = 2.0

    @property
    def embeddings(self) -> list[str]:
        """The embeddings of the base model of each seed."""
        seeds = map(self.benchmark.base_seed, self.seeds)
        return [self.path(paths.EMBEDDINGS, seed=seed) for seed in seeds]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the benchmark."""
        return self.benchmark.seeds

    @property
    def sources(self) -> tuple[str, ...]:
        """All files that it is made from."""
        return (self.path(paths.DATA), self.split, *self.embeddings)

    @property
    def code(self) -> str:
        """The fingerprint of the code that computes them."""
        return stage_code("neighbours")

    @property
    def bytes(self) -> float:
        """The disk space of a similarity for each seed and example."""
        return FLOAT_BYTES * len(self.seeds) * self.workload.size.num_examples

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now."""
        inputs = self.record_inputs(*self.sources)
        return {"seeds": [*self.seeds], "code": self.code, INPUTS: inputs}

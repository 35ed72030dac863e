"""The images of a cell that its page may show."""

from __future__ import annotations

from math import prod
from pathlib import Path

from collateral.contract.showing import ALL_PICTURES, Showing
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.jobs._job import CellJob, Record
from collateral.results import layout
from collateral.results.provenance import INPUTS

# Images in pictures.npz, at most: near ones, with the forgotten one nearest to each, and the
# forgotten ones that are most similar, as the stage `neighbours` counts them.
NUM_IMAGES = 2 * (48 + 48) + 12


class PicturesJob(CellJob):
    """Images of the examples that are nearest to the forget set."""

    needs = ("data", "split", "neighbours")
    folder = paths.CELL
    record_file = Path(layout.PICTURES_RECORD).name
    files = (Path(layout.PICTURES).name, record_file)
    remedy = "make it"
    seconds = 1.0

    @property
    def keep(self) -> Showing:
        """The images that results may contain."""
        return self.cell.pictures

    @property
    def withheld(self) -> list[str]:
        """The forget sets, also of other cells, whose examples no page may show."""
        cells = self.benchmark.cells.values()
        names = [cell.name for cell in cells if cell.pictures != ALL_PICTURES]
        return [self.path(paths.SPLIT, cell=name) for name in names]

    @property
    def sources(self) -> tuple[str, ...]:
        """All files that it is made from."""
        return (self.path(paths.DATA), self.path(paths.NEIGHBOURS), *self.withheld)

    @property
    def code(self) -> str:
        """The fingerprint of the code that takes them from the data set."""
        return stage_code("pictures")

    @property
    def bytes(self) -> float:
        """The disk space of the images."""
        return NUM_IMAGES * prod(self.workload.size.shape)

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write now."""
        return {"keep": self.keep, "code": self.code, INPUTS: self.record_inputs(*self.sources)}

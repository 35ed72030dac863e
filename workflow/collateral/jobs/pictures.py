"""Job that saves those images of a cell's examples that the web page may show."""

from math import prod
from pathlib import Path

from collateral.contract.conventions import ALL_PICTURES, Showing
from collateral.jobs._job import CellJob, Record
from collateral.plan import paths
from collateral.results import layout
from collateral.results.provenance import INPUTS

# Maximum number of images in pictures.npz: 96 pairs of a near and a forgotten image, and 12 more.
NUM_IMAGES = 2 * (48 + 48) + 12


class PicturesJob(CellJob):
    """Saves images of the examples that are nearest to the forget set."""

    folder = paths.CELL
    record_file = Path(layout.PICTURES_RECORD).name
    files = (Path(layout.PICTURES).name, record_file)
    seconds = 0.1

    @property
    def keep(self) -> Showing:
        """Which images the results may contain: `none`, `retained` or `all`."""
        return self.cell.pictures

    @property
    def withheld(self) -> list[str]:
        """Files of all forget sets, also of other cells, whose examples no page may show."""
        cells = self.benchmark.cells.values()
        names = [cell.name for cell in cells if cell.pictures != ALL_PICTURES]
        return [self.path(paths.SPLIT, cell=name) for name in names]

    @property
    def bytes(self) -> float:
        """Disk space of the images, in bytes."""
        return NUM_IMAGES * prod(self.workload.size.shape)

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code."""
        inputs = self.record_inputs(self.path(paths.NEIGHBOURS), *self.withheld)
        return {"keep": self.keep, "code": self.code, INPUTS: inputs}

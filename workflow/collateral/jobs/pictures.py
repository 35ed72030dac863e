"""Job that saves those images of a cell's examples that the web page may show."""

from math import prod
from typing import Any

from collateral.contract.conventions import ALL_PICTURES, Showing
from collateral.jobs._job import Inputs, Job, PlannedInCell
from collateral.results import layout

# Maximum number of images in pictures.npz: 96 pairs of a near and a forgotten image, and 12 more.
NUM_IMAGES = 2 * (48 + 48) + 12


class PicturesJob(Job):
    """Saves images of the examples that are nearest to the forget set."""

    folder = layout.CELL
    has_cost = False

    cell: str
    keep: Showing  # which images the results may contain: `none`, `retained` or `all`
    withheld: tuple[str, ...]  # cells whose forgotten examples no page may show

    @property
    def inputs(self) -> Inputs:
        """Data, nearest examples, and the forget sets whose examples no page may show."""
        withheld = [self.path(layout.SPLIT, cell=name) for name in self.withheld]
        nearest = self.path(layout.NEIGHBOURS)
        return {"data": layout.DATA, "neighbours": nearest, "withheld": withheld}

    @property
    def files(self) -> dict[str, str]:
        """The images."""
        return {"pictures": self.path(layout.PICTURES)}


class PlannedPictures(PlannedInCell):
    """The images of a cell in the plan."""

    describes = PicturesJob
    seconds = 0.1

    @property
    def values(self) -> dict[str, Any]:
        """What the config allows to keep, for this cell and for all others."""
        cells = self.benchmark.cells.values()
        withheld = tuple(cell.name for cell in cells if cell.pictures != ALL_PICTURES)
        return {"keep": self.cell.pictures, "withheld": withheld}

    @property
    def bytes(self) -> float:
        """Disk space of the images, in bytes."""
        return NUM_IMAGES * prod(self.workload.size.shape)

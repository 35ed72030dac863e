"""Job that saves those images of a cell's examples that the web page may show."""

from math import prod
from pathlib import Path

from collateral.contract.conventions import ALL_PICTURES, NO_PICTURES, Showing
from collateral.jobs._job import CellJob, Record
from collateral.plan import paths
from collateral.results import layout
from collateral.results.provenance import INPUTS

# Maximum number of images in pictures.npz: 96 pairs of a near and a forgotten image, and 12 more;
# for each method those of the 8 retained and 8 test examples that it hurts most.
NUM_IMAGES = 2 * (48 + 48) + 12
NUM_OF_METHOD = 8 + 8


class PicturesJob(CellJob):
    """Saves images of the examples nearest to the forget set and of those that are most hurt."""

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
    def methods(self) -> list[str]:
        """Names of the runs of methods, without sweeps; none if the config allows no images."""
        names = self.cell.names_by_kind("method") if self.keep != NO_PICTURES else []
        return [name for name in names if not layout.is_sweep(name)]

    @property
    def reference(self) -> list[str]:
        """Outputs of Retrain, or of the base if Retrain is not run."""
        if not self.methods:
            return []
        if self.benchmark.reference == layout.RETRAIN:
            return self._outputs(layout.RETRAIN)
        seeds = self.benchmark.base_seeds()
        return [self.base_file(layout.OUTPUTS, seed) for seed in seeds]

    @property
    def outputs(self) -> list[str]:
        """Outputs of all methods."""
        return [path for name in self.methods for path in self._outputs(name)]

    def _outputs(self, run: str) -> list[str]:
        folders = (self.path(paths.RUN, run=run, seed=seed) for seed in self.benchmark.seeds)
        return [f"{folder}/{layout.OUTPUTS}" for folder in folders]

    @property
    def bytes(self) -> float:
        """Disk space of the images, in bytes."""
        num_images = NUM_IMAGES + NUM_OF_METHOD * len(self.methods)
        return num_images * prod(self.workload.size.shape)

    def record(self, found: Record, folder: object) -> Record:
        """Return the record that the job would write with the current config and code.

        The outputs are those that were there: where results of methods are joined that were made
        apart, pictures of the examples that one of them hurts most may be missing.
        """
        outputs = [name for name in found[INPUTS] if Path(name).name == layout.OUTPUTS]
        files = self.split, self.path(paths.NEIGHBOURS), *self.withheld
        inputs = sorted({*self.record_inputs(*files), *outputs})
        return {"keep": self.keep, "code": self.code, INPUTS: inputs}

"""Job that saves those images of a cell's examples that the web page may show."""

from collections.abc import Iterable
from math import prod
from typing import Any

from collateral.contract.conventions import ALL_PICTURES, NO_PICTURES, Showing
from collateral.jobs._job import Inputs, Job, PlannedInCell
from collateral.results import layout

# Maximum number of images in pictures.npz without those of methods: 96 pairs of a near and a
# forgotten image, and 12 more forgotten ones. Each method adds at most NUM_OF_METHOD images: those
# of the 8 retained and the 8 test examples that it hurts most.
NUM_IMAGES = 2 * (48 + 48) + 12
NUM_OF_METHOD = 8 + 8


class PicturesJob(Job):
    """Saves images of the examples nearest to the forget set and of those that are most hurt."""

    folder = layout.CELL
    # Where results of methods are joined that were made apart, pictures of the examples that one of
    # them hurts most may be missing.
    uncompared = frozenset({"methods", "reference", "outputs"})
    has_cost = False

    cell: str
    keep: Showing  # which images the results may contain: `none`, `retained` or `all`
    withheld: tuple[str, ...]  # cells whose forgotten examples no page may show
    methods: tuple[str, ...]  # runs whose most hurt examples are shown
    seeds: tuple[int, ...]
    reference: str  # Retrain, or the base model if Retrain is not run
    base_seeds: tuple[int, ...]  # seed of the base model of each seed

    @property
    def inputs(self) -> Inputs:
        """Data, nearest examples, outputs, and the forget sets whose examples no page may show."""
        withheld = [self.path(layout.SPLIT, cell=name) for name in self.withheld]
        bases = tuple(dict.fromkeys(self.base_seeds))
        seeds = bases if self.reference == layout.ORIGINAL else self.seeds
        return {
            "data": layout.DATA,
            "split": self.path(layout.SPLIT),
            "neighbours": self.path(layout.NEIGHBOURS),
            "withheld": withheld,
            "reference": self._outputs(self.reference, seeds) if self.methods else [],
            "outputs": [file for run in self.methods for file in self._outputs(run, self.seeds)],
        }

    def _outputs(self, run: str, seeds: Iterable[int]) -> list[str]:
        folders = [self.path(layout.run_folder(run), run=run, seed=seed) for seed in seeds]
        return [f"{folder}/{layout.OUTPUTS}" for folder in folders]

    @property
    def files(self) -> dict[str, str]:
        """The images."""
        return {"pictures": self.path(layout.PICTURES)}


class PlannedPictures(PlannedInCell):
    """Planned job that saves the images of a cell."""

    describes = PicturesJob
    seconds = 0.1

    @property
    def values(self) -> dict[str, Any]:
        """What the config allows to keep, for this cell and for all others."""
        cells = self.benchmark.cells.values()
        withheld = tuple(cell.name for cell in cells if cell.pictures != ALL_PICTURES)
        benchmark = self.benchmark
        return {
            **{"keep": self.cell.pictures, "withheld": withheld, "methods": self.methods},
            **{"seeds": benchmark.evaluated_seeds, "base_seeds": benchmark.base_seeds},
            "reference": benchmark.reference,
        }

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the runs of methods, without sweeps; none if the config allows no images."""
        keep, names = self.cell.pictures, self.cell.names_by_kind("method")
        return tuple(n for n in names if keep != NO_PICTURES and not layout.is_sweep(n))

    @property
    def bytes(self) -> float:
        """Disk space of the images, in bytes."""
        num_images = NUM_IMAGES + NUM_OF_METHOD * len(self.methods)
        return num_images * prod(self.workload.size.shape)

"""The matrices of an atlas, from the long table: emitters, receivers and seeds."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from collateral.metrics import emitters
from collateral.metrics.arrays import Floats, Mask
from collateral.metrics.differences import Contrast
from collateral.results.layout import ORIGINAL
from collateral.results.table import BenchmarkTable, CellTable

LEAST_SEEDS = 2  # minimum number of seeds for a test of an entry


@dataclass(frozen=True)
class Atlas:
    """The cells of one atlas (classes at one share, or groups), and the order of its classes."""

    each: str  # `class`, or the name of a metadata column
    part: str  # percent that is forgotten of each class
    cells: tuple[CellTable, ...]  # in the order of `emitters`
    emitters: tuple[str, ...]
    # The emitters that have test images, in the same order; then classes that are never forgotten.
    receivers: tuple[str, ...]

    @property
    def reference(self) -> str:
        """Name of the reference: Retrain."""
        return self.cells[0].reference

    @property
    def methods(self) -> list[str]:
        """Methods that were run in all cells of the atlas."""
        return [run for run in self.cells[0].runs("method") if self._has(run)]

    @property
    def has_base(self) -> bool:
        """Tell whether the base model was evaluated, as the control `original`."""
        return self._has(ORIGINAL)

    def _has(self, run: str) -> bool:
        return all(run in cell.labels for cell in self.cells)

    @property
    def is_square(self) -> bool:
        """Tell whether receivers are the emitters, which the test of similarity needs."""
        return self.emitters == self.receivers

    @cached_property
    def used(self) -> Mask:
        """Mask of the pairs (emitter, receiver) of two different classes."""
        return np.array([[e != r for r in self.receivers] for e in self.emitters])

    @cached_property
    def step(self) -> Floats:
        """Weight of one test image in the accuracy of each receiver."""
        cell = self.cells[0]
        counts = [cell.number(self.reference, "atlas_images", "test", r) for r in self.receivers]
        return 1 / np.array(counts)

    def values(self, run: str, metric: str) -> Floats:
        """Return the values of a run by emitter, receiver and seed."""
        return np.array(
            [[cell.values(run, metric, "test", r) for r in self.receivers] for cell in self.cells]
        )

    def loss(self, run: str, measure: str = "accuracy") -> Floats:
        """Return Retrain's values minus the run's, by emitter, receiver and seed."""
        metric = f"atlas_{measure}"
        return self.values(self.reference, metric) - self.values(run, metric)

    def legitimate(self, measure: str = "accuracy") -> Floats:
        """Return the base's values minus Retrain's: what forgetting must cost."""
        return -self.loss(ORIGINAL, measure)

    @cached_property
    def similarity(self) -> Floats:
        """Similarity of receiver to emitter in the base model, with the seed on the last axis."""
        return self.values(self.reference, "atlas_similarity")

    def contrast(self, run: str, measure: str = "accuracy") -> Contrast:
        """Compare every entry of a run with Retrain."""
        metric = f"atlas_{measure}"
        return emitters.compare_entries(
            self.values(self.reference, metric), self.values(run, metric), self.step, self.used
        )

    def found(self, run: str, measure: str = "accuracy") -> Mask:
        """Return a mask of the pairs whose loss is shown to differ from zero."""
        return emitters.find_entries(self.contrast(run, measure), self.used)


def find_atlases(table: BenchmarkTable) -> Iterator[Atlas]:
    """Yield the atlases of a benchmark, one per share; all have one order of classes."""
    places = {
        cell.name: cell.plan.numbers.atlas
        for cell in table.cells
        if cell.plan.numbers is not None and cell.plan.numbers.atlas
    }
    # Shares in the order of their size, the whole class last.
    keys = sorted({(p["each"], float(p["part"]), p["part"]) for p in places.values()})
    atlases = []
    for each, _, part in keys:
        cells = {
            places[cell.name]["emitter"]: cell
            for cell in table.cells
            if places.get(cell.name, {}).get("part") == part and places[cell.name]["each"] == each
        }
        first = next(iter(cells.values()))
        receivers = first.indices(first.reference, "atlas_images", "test")
        names = tuple(name for name in cells if name in receivers)
        if len(names) > 2:
            others = tuple(name for name in receivers if name not in names)
            found = tuple(cells[name] for name in names)
            atlases.append(Atlas(each, part, found, names, names + others))
    if atlases:
        order = _find_order(atlases)
        yield from (_sort(atlas, order) for atlas in atlases)


def _find_order(atlases: list[Atlas]) -> list[str]:
    """Return the emitters in the order by similarity, averaged over seeds and shares."""
    names = atlases[0].emitters
    known = [one for one in atlases if one.emitters == names]
    means = [one.similarity[:, : len(names)].mean(axis=-1) for one in known]
    return [names[place] for place in emitters.cluster_order(np.mean(means, axis=0))]


def _sort(atlas: Atlas, order: list[str]) -> Atlas:
    by_name = dict(zip(atlas.emitters, atlas.cells, strict=True))
    names = tuple(name for name in order if name in by_name)
    names += tuple(name for name in by_name if name not in order)
    others = atlas.receivers[len(names) :]
    cells = tuple(by_name[name] for name in names)
    return Atlas(atlas.each, atlas.part, cells, names, names + others)

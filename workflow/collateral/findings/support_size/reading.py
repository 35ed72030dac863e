"""LTD's teachers by the size of their support, as table, figures and words read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.findings.metric_index import find_metric
from collateral.results.table import CellTable

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Supports:
    """The numbers of a cell's teachers: by size, by bin of similarity, and of `k: auto`."""

    cell: CellTable
    run: str
    sizes: tuple[int, ...]

    @property
    def label(self) -> str:
        """The method as tables and figures print it."""
        return self.cell.labels[self.run]

    def values(self, name: str) -> Array:
        """Return a number by size and seed, (K, S)."""
        return self._at(name, self.sizes)

    def bins(self, name: str) -> Array:
        """Return a number of the step by bin and seed, (bins, S)."""
        return self._at(name, self.cell.indices(self.run, "support_drop"))

    @property
    def floors(self) -> Array:
        """The divergence between two seeds' teachers by size, (K,); NaN with one seed."""
        numbers = [self.cell.number(self.run, "support_kl_seeds", at=size) for size in self.sizes]
        return np.array(numbers)

    @property
    def auto(self) -> Array:
        """How many examples `k: auto` takes, by seed."""
        return self.cell.values(self.run, "support_auto")

    @property
    def own(self) -> Array:
        """How many examples the run's own support has, by seed."""
        return self.cell.values(self.run, "support_size")

    @property
    def steps(self) -> list[Step]:
        """The step of gradient ascent, by seed."""
        rates = self.cell.values(self.run, "support_step_rate")
        columns = zip(
            *(self.bins(name).T for name in ("drop", "bin_low", "bin_count")), strict=True
        )
        by_seed = zip(self.cell.seeds, rates, self.auto, columns, strict=True)
        return [Step(seed, float(rate), int(auto), *column) for seed, rate, auto, column in by_seed]

    def _at(self, name: str, indices: Iterable[int | str]) -> Array:
        return np.array([self.cell.values(self.run, f"support_{name}", at=at) for at in indices])


@dataclass(frozen=True)
class Step:
    """What one step of gradient ascent did in one seed, and what `k: auto` made of it."""

    seed: int
    rate: float
    auto: int
    drop: Array  # (bins,), NaN in an empty bin
    low: Array  # (bins,), the bins' least similarities
    counts: Array  # (bins,)

    @property
    def num_taken(self) -> int:
        """How many bins, from the top, `k: auto` takes."""
        return int(np.searchsorted(self.counts[::-1].cumsum(), self.auto)) + 1

    @property
    def least_similarity(self) -> float:
        """Where what is taken begins."""
        return float(self.low[-self.num_taken])

    @property
    def largest(self) -> int:
        """The bin that loses most."""
        return int(np.nanargmax(self.drop))

    @property
    def top_is_short(self) -> bool:
        """Whether even the most similar bin loses less than half of the largest loss."""
        return bool(self.drop[-1] < self.drop[self.largest] / 2)


def supports_of(cell: CellTable) -> Supports | None:
    """Return the teachers of a cell, where supports of several sizes were tried."""
    for run in sorted(cell.labels):
        if sizes := cell.indices(run, "support_teacher_ua"):
            return Supports(cell, run, tuple(int(size) for size in sizes))
    return None


def span(values: Iterable[float] | Array, metric: str) -> str:
    """Return "3 to 5" as the metric is shown, or "3" where all are alike."""
    known = [float(value) for value in values if not np.isnan(value)]
    low, high = (find_metric(metric).text(end) for end in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"

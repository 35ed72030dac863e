"""LTD's teachers by the size of their support, as figures and the report read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.findings.locality.similarity import NUM_BINS
from collateral.results.table import Cell, mean

FIRST = "support_teacher_ua:"  # a number that every size has
LEAST_LOSS = 0.05  # of the most similar bin, at which `k: auto` takes a rate: LTD's MIN_DROP

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Supports:
    """The numbers of a cell's teachers: by size, by bin of similarity, and of `k: auto`."""

    cell: Cell
    run: str
    sizes: tuple[int, ...]

    @property
    def label(self) -> str:
        """Return the method as tables and figures print it."""
        return self.cell.labels[self.run]

    def values(self, name: str) -> Array:
        """Return a number by size and seed, (K, S)."""
        names = [f"support_{name}:{size:05d}" for size in self.sizes]
        return np.array([self.cell.values(self.run, metric) for metric in names])

    def floors(self) -> Array:
        """Return the divergence between two seeds' teachers by size, (K,); NaN with one seed."""
        names = [f"support_floor:{size:05d}" for size in self.sizes]
        return np.array([self.cell.number(self.run, metric) for metric in names])

    def bins(self, name: str) -> Array:
        """Return a number of the step by bin and seed, (NUM_BINS, S)."""
        names = [f"support_{name}:{b:02d}" for b in range(NUM_BINS)]
        return np.array([self.cell.values(self.run, metric) for metric in names])

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
        columns = zip(*(self.bins(n).T for n in ("drop", "bin_low", "bin_count")), strict=True)
        return [
            Step(seed, float(rate), int(auto), *column)
            for seed, rate, auto, column in zip(
                self.cell.seeds, rates, self.auto, columns, strict=True
            )
        ]


@dataclass(frozen=True)
class Step:
    """What one step of gradient ascent did in one seed, and what `k: auto` made of it."""

    seed: int
    rate: float
    auto: int
    drop: Array  # (NUM_BINS,), NaN in an empty bin
    low: Array  # (NUM_BINS,), the bins' least similarities
    counts: Array  # (NUM_BINS,)

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


def supports_of(cell: Cell) -> Supports | None:
    """Return the teachers of a cell, where supports of several sizes were tried."""
    found = [(run, name) for run, name in cell.by_seed.index if name.startswith(FIRST)]
    runs = sorted({run for run, _ in found if run in cell.labels})
    if not runs:
        return None
    sizes = sorted(int(name.removeprefix(FIRST)) for run, name in found if run == runs[0])
    return Supports(cell, runs[0], tuple(sizes))


def auto_in_words(supports: Supports) -> str:
    """Say what `k: auto` takes, and why."""
    steps = supports.steps
    rates, losses = [step.rate for step in steps], [100 * step.drop[-1] for step in steps]
    text = (
        f"k: auto takes {span(supports.auto, '.0f')} examples, because one step of gradient ascent "
        "on the forget set was taken at the first of a series of doubling rates (here "
        f"{span(rates, '.2g')}) that costs the most similar bin of retained examples 5 points; it "
        f"cost it {span(losses, '.0f')}. From that bin down, the bins that lose at least half of "
        "the largest loss are taken: here those from similarity "
        f"{span([step.least_similarity for step in steps], '.2f')} up."
    )
    if short := [step.seed for step in steps if step.top_is_short]:
        text += (
            f" In {_seeds(short)} another bin loses more than twice as much as the most similar "
            "one, which is taken alone, because it always is."
        )
    if weak := [step.seed for step in steps if step.drop[-1] < LEAST_LOSS]:
        text += f" In {_seeds(weak)} no rate of the series costs it 5 points; the last was taken."
    return text + _one_class(supports)


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _one_class(supports: Supports) -> str:
    """Say up to which size the support is of one class, so that the teacher can learn no other."""
    alone = [
        size
        for size, classes in zip(supports.sizes, supports.values("num_classes"), strict=True)
        if mean(classes) == 1
    ]
    return f" A support of {max(alone)} or fewer is of one class in every seed." if alone else ""


def span(values: Sequence[float] | Array, digits: str) -> str:
    """Return "3 to 5", or "3" where all are alike."""
    low, high = (format(end, digits) for end in (np.nanmin(values), np.nanmax(values)))
    return low if low == high else f"{low} to {high}"

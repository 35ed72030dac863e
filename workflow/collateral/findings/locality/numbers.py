"""Where an unlearned model differs from the reference: by bins of similarity, near and far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import TRACKED, Row, without_value
from collateral.findings._shared.statistics import difference_sd
from collateral.results.layout import RETRAIN

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result
    from collateral.results.epochs import Epoch

NUM_BINS = 10
BINNED = ("retain", "test")  # the sets whose examples are sorted into bins
NEAR_SHARE = 0.01
NEAR_COUNT = 20

Floats = NDArray[np.floating]
BinIndex = NDArray[np.int64]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the bins of both sets, every run's differences in them, and the noise of each."""
    for name in BINNED:
        binned = Binned(cell, name)
        yield from _bins(binned)
        if cell.reference == RETRAIN:
            yield from _noise(binned)
        for result in cell.results():
            rows = _differences(binned, result)
            is_lost = result.is_diverged or cell.reference_result(result.seed).is_diverged
            yield from map(without_value, rows) if is_lost else rows
            if result.run in cell.tracked:
                yield from _losses_by_epoch(binned, result)
    for result in cell.results():
        yield from _disagreements(cell, result)


@dataclass(frozen=True)
class Binned:
    """One set of a cell, its examples sorted by similarity into bins, and into near and far."""

    cell: CellResults
    name: str

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins, over all seeds."""
        return bin_edges(self.cell.similarity[self.name])

    @cached_property
    def bins(self) -> list[BinIndex]:
        """Each example's bin, by seed."""
        return [bin_of(values, self.edges) for values in self.cell.similarity[self.name]]

    @cached_property
    def first_near(self) -> int:
        """The least similar bin that is near."""
        return first_near(np.mean([bin_count(bins) for bins in self.bins], axis=0))

    @cached_property
    def is_near(self) -> list[BinIndex]:
        """1 for each example that is near, 0 for the others, by seed."""
        return [(bins >= self.first_near).astype(np.int64) for bins in self.bins]

    def right(self, model: Result | Epoch) -> Floats:
        """Return whether a model is right about each example."""
        predictions = self.cell.sets(model.train.prediction, model.test.prediction)
        labels = self.cell.sets(self.cell.labels.train, self.cell.labels.test)
        is_right: Floats = predictions[self.name] == labels[self.name]
        return is_right

    def losses(self, seed: int, models: Iterable[Result | Epoch]) -> list[tuple[float, float]]:
        """Return the reference's accuracy minus that of each model of a seed: near, and far."""
        is_near = self.is_near[self.cell.seeds.index(seed)]
        before = bin_mean(self.right(self.cell.reference_result(seed)), is_near, 2)
        lost = (before - bin_mean(self.right(model), is_near, 2) for model in models)
        return [(float(near), float(far)) for far, near in lost]

    def measures(self, result: Result) -> dict[str, Floats]:
        """Return accuracy and confidence of each example."""
        confidences = self.cell.sets(result.train.confidence, result.test.confidence)
        return {"acc": self.right(result), "conf": confidences[self.name]}


def _bins(binned: Binned) -> Iterator[Row]:
    for b, (low, high) in enumerate(zip(binned.edges[:-1], binned.edges[1:], strict=True)):
        yield Row(binned.cell.reference, "bin_low", float(low), set=binned.name, at=b)
        yield Row(binned.cell.reference, "bin_high", float(high), set=binned.name, at=b)
    for seed, bins, is_near in zip(binned.cell.seeds, binned.bins, binned.is_near, strict=True):
        for b, count in enumerate(bin_count(bins)):
            yield Row(binned.cell.reference, "bin_count", float(count), seed, binned.name, b)
        far, near = bin_count(is_near, 2)
        yield Row(binned.cell.reference, "near_count", float(near), seed, binned.name)
        yield Row(binned.cell.reference, "far_count", float(far), seed, binned.name)


def _noise(binned: Binned) -> Iterator[Row]:
    """Yield how far retrainings are apart: each against each other, in the bins of either."""
    sound = [result for result in binned.cell.retrained() if not result.is_diverged]
    places = [binned.cell.seeds.index(result.seed) for result in sound]
    measures = [binned.measures(result) for result in sound]

    def profiles(measure: str, bins_by_seed: list[BinIndex], count: int) -> NDArray[np.float64]:
        found = [
            [bin_mean(of_seed[measure], bins_by_seed[i], count) for of_seed in measures]
            for i in places
        ]
        return np.reshape(found, (len(sound), len(sound), count))

    for measure in ("acc", "conf"):
        for b, value in enumerate(difference_sd(profiles(measure, binned.bins, NUM_BINS))):
            yield Row(RETRAIN, f"delta_{measure}_sd", float(value), set=binned.name, at=b)
    near_or_far = profiles("acc", binned.is_near, 2)
    far, near = difference_sd(near_or_far)
    damage = difference_sd(np.diff(near_or_far))[0]
    for name, value in (("near_loss", near), ("far_loss", far), ("damage", damage)):
        yield Row(RETRAIN, f"{name}_sd", float(value), set=binned.name)


def _differences(binned: Binned, result: Result) -> Iterator[Row]:
    """Yield the reference's accuracy and confidence minus the run's, by bin, near and far."""
    seed, place = result.seed, binned.cell.seeds.index(result.seed)
    bins = binned.bins[place]
    before, own = (
        binned.measures(binned.cell.reference_result(result.seed)),
        binned.measures(result),
    )
    for measure in own:
        deltas = bin_mean(before[measure], bins) - bin_mean(own[measure], bins)
        for b, value in enumerate(deltas):
            yield Row(result.run, f"delta_{measure}", float(value), seed, binned.name, b)
    near, far = binned.losses(seed, [result])[0]
    yield Row(result.run, "near_loss", near, seed, binned.name)
    yield Row(result.run, "far_loss", far, seed, binned.name)


def _losses_by_epoch(binned: Binned, result: Result) -> Iterator[Row]:
    """Yield what each epoch's model loses near and far; undefined where one diverged."""
    is_lost = binned.cell.reference_result(result.seed).is_diverged
    models = result.epochs()
    for epoch, losses in enumerate(binned.losses(result.seed, models)):
        for name, value in zip(("near_loss", "far_loss"), losses, strict=True):
            row = Row(result.run, f"{TRACKED}{name}", value, result.seed, binned.name, epoch)
            yield without_value(row) if is_lost or not _is_defined(models[epoch]) else row


def _is_defined(model: Result | Epoch) -> bool:
    return all(np.isfinite(part.confidence).all() for part in (model.train, model.test))


def _disagreements(cell: CellResults, result: Result) -> Iterator[Row]:
    before = cell.reference_result(result.seed)
    own, other = (cell.sets(r.train.prediction, r.test.prediction) for r in (result, before))
    is_lost = result.is_diverged or before.is_diverged
    for name in own:
        value = math.nan if is_lost else disagreement(own[name], other[name])
        yield Row(result.run, "disagreement", value, result.seed, name)


def bin_edges(values: Floats) -> NDArray[np.float64]:
    """Return the edges of ten equal widths from the least to the largest of `values`, pooled."""
    return np.linspace(float(values.min()), float(values.max()), NUM_BINS + 1)


def bin_of(values: Floats, edges: NDArray[np.float64]) -> BinIndex:
    """Return each value's bin: an edge belongs to the bin above it, the largest to the last bin."""
    # Inner edges only: whatever is beyond them is in the first or the last bin.
    return np.searchsorted(edges[1:-1], values, side="right").astype(np.int64)


def bin_mean(values: Floats, bins: BinIndex, count: int = NUM_BINS) -> NDArray[np.float64]:
    """Return the mean of `values` in each bin; NaN where a bin is empty."""
    means = np.full(count, np.nan)
    counts = bin_count(bins, count)
    sums = np.bincount(bins, weights=values, minlength=count)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def bin_count(bins: BinIndex, count: int = NUM_BINS) -> NDArray[np.int64]:
    """Return how many examples are in each bin."""
    return np.bincount(bins, minlength=count)


def first_near(counts: Floats) -> int:
    """Return the least similar bin that is near, by the examples in each; the first is far."""
    from_top = counts[::-1].cumsum()
    wanted = max(NEAR_COUNT, NEAR_SHARE * from_top[-1])
    num_near = min(int(np.searchsorted(from_top, wanted)) + 1, NUM_BINS - 1)
    return NUM_BINS - num_near


def disagreement(prediction: NDArray[np.int64], retrained: NDArray[np.int64]) -> float:
    """Return the share of examples of which the two models predict different classes."""
    return float(np.mean(prediction != retrained)) if len(prediction) else float("nan")

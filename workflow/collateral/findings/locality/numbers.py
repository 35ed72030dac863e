"""Accuracy and confidence lost by every run, by similarity of examples to the forget set.

The loss is the value of the reference minus the value of the run.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import TRACKED, Row, without_value
from collateral.findings.inputs import CellResults, Epoch, Result
from collateral.metrics.accuracy import disagreement
from collateral.metrics.arrays import Floats, Ints
from collateral.metrics.similarity import NUM_BINS, assign_bins, bin_count, bin_edges, bin_mean
from collateral.metrics.statistics import difference_sd

BINNED = ("retain", "test")  # subsets whose examples are assigned to bins


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the similarity bins, each run's differences from the reference, and their noise."""
    for name in BINNED:
        binned = Binned(cell, name)
        yield from _describe_bins(binned)
        yield from _reference_accuracies(binned)
        if cell.has_retrain:
            yield from _measure_noise(binned)
        for result in cell.results():
            rows = _compare(binned, result)
            is_lost = result.is_diverged or cell.reference_result(result.seed).is_diverged
            yield from map(without_value, rows) if is_lost else rows
            if result.run in cell.tracked:
                yield from _losses_by_epoch(binned, result)
    for result in cell.results():
        yield from _disagreements(cell, result)


@dataclass(frozen=True)
class Binned:
    """The examples of one subset: similarity bins, and which examples are near the forget set."""

    cell: CellResults
    name: str

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the similarity bins, computed from the similarities of all seeds together."""
        return bin_edges(self.cell.similarity[self.name])

    @cached_property
    def bins(self) -> list[Ints]:
        """Index of the similarity bin of each example, one array per seed."""
        return [assign_bins(values, self.edges) for values in self.cell.similarity[self.name]]

    @cached_property
    def is_near(self) -> list[Ints]:
        """1 for examples near the forget set, 0 for all others; one array per seed."""
        return [is_near.astype(np.int64) for is_near in self.cell.near[self.name]]

    def correctness(self, model: Result | Epoch) -> Floats:
        """Return, for each example, whether the prediction of a model is correct."""
        predictions = self.cell.sets(model.train.prediction, model.test.prediction)
        labels = self.cell.sets(self.cell.labels.train, self.cell.labels.test)
        is_right: Floats = predictions[self.name] == labels[self.name]
        return is_right

    def losses(self, seed: int, models: Iterable[Result | Epoch]) -> list[tuple[float, float]]:
        """Return each model's loss of accuracy near the forget set, and far from the forget set.

        The loss is the accuracy of the reference minus the accuracy of the model.
        """
        is_near = self.is_near[self.cell.seeds.index(seed)]
        before = bin_mean(self.correctness(self.cell.reference_result(seed)), is_near, 2)
        lost = (before - bin_mean(self.correctness(model), is_near, 2) for model in models)
        return [(float(near), float(far)) for far, near in lost]

    def measures(self, result: Result) -> dict[str, Floats]:
        """Return the correctness and the true-class confidence of a run for each example."""
        confidences = self.cell.sets(result.train.confidence, result.test.confidence)
        return {"acc": self.correctness(result), "conf": confidences[self.name]}


def _describe_bins(binned: Binned) -> Iterator[Row]:
    """Yield each bin's edges and number of examples, and the numbers of near and far examples."""
    reference, name = binned.cell.reference, binned.name
    for b, (low, high) in enumerate(zip(binned.edges[:-1], binned.edges[1:], strict=True)):
        yield Row(reference, "bin_low", float(low), set=name, at=b)
        yield Row(reference, "bin_high", float(high), set=name, at=b)
    for seed, bins, is_near in zip(binned.cell.seeds, binned.bins, binned.is_near, strict=True):
        for b, count in enumerate(bin_count(bins)):
            yield Row(reference, "bin_count", float(count), seed, name, b)
        far, near = bin_count(is_near, 2)
        yield Row(reference, "near_count", float(near), seed, name)
        yield Row(reference, "far_count", float(far), seed, name)


def _reference_accuracies(binned: Binned) -> Iterator[Row]:
    """Yield the accuracy of the reference on near examples and on far examples, by seed."""
    cell = binned.cell
    for seed, is_near in zip(cell.seeds, binned.is_near, strict=True):
        result = cell.reference_result(seed)
        far, near = bin_mean(binned.correctness(result), is_near, 2)
        for name, value in (("near_accuracy", near), ("far_accuracy", far)):
            row = Row(cell.reference, name, float(value), seed, binned.name)
            yield without_value(row) if result.is_diverged else row


def _measure_noise(binned: Binned) -> Iterator[Row]:
    """Yield the standard deviations of the differences between retrained models.

    They are yielded for each bin, for near and far examples, and for near minus far.
    """
    reference, name = binned.cell.reference, binned.name
    sound = [result for result in binned.cell.retrained() if not result.is_diverged]
    places = [binned.cell.seeds.index(result.seed) for result in sound]
    measures = [binned.measures(result) for result in sound]

    def profiles(measure: str, bins_by_seed: list[Ints], count: int) -> NDArray[np.float64]:
        found = [
            [bin_mean(of_seed[measure], bins_by_seed[i], count) for of_seed in measures]
            for i in places
        ]
        return np.reshape(found, (len(sound), len(sound), count))

    for measure in ("acc", "conf"):
        for b, value in enumerate(difference_sd(profiles(measure, binned.bins, NUM_BINS))):
            yield Row(reference, f"delta_{measure}_sd", float(value), set=name, at=b)
    near_or_far = profiles("acc", binned.is_near, 2)
    far, near = difference_sd(near_or_far)
    damage = difference_sd(np.diff(near_or_far))[0]
    for metric, value in (("near_loss", near), ("far_loss", far), ("damage", damage)):
        yield Row(reference, f"{metric}_sd", float(value), set=name)


def _compare(binned: Binned, result: Result) -> Iterator[Row]:
    """Yield a run's loss of accuracy and confidence in each bin, compared with the reference.

    Also yield the loss of accuracy on near examples and on far examples.
    """
    seed, place = result.seed, binned.cell.seeds.index(result.seed)
    bins = binned.bins[place]
    before = binned.measures(binned.cell.reference_result(result.seed))
    own = binned.measures(result)
    for measure in own:
        deltas = bin_mean(before[measure], bins) - bin_mean(own[measure], bins)
        for b, value in enumerate(deltas):
            yield Row(result.run, f"delta_{measure}", float(value), seed, binned.name, b)
    near, far = binned.losses(seed, [result])[0]
    yield Row(result.run, "near_loss", near, seed, binned.name)
    yield Row(result.run, "far_loss", far, seed, binned.name)


def _losses_by_epoch(binned: Binned, result: Result) -> Iterator[Row]:
    """Yield the loss of accuracy on near and on far examples after each epoch of a run.

    A loss is NaN if the reference or the model of the epoch diverged.
    """
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

"""Accuracy and confidence lost by every run, by similarity of examples to the forget set.

The loss is the value of the reference minus the value of the run.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import TRACKED, Row, without_value
from collateral.findings.inputs import CellResults, Epoch, Result
from collateral.findings.near import NEAR, split_by_distance
from collateral.metrics.accuracy import disagreement
from collateral.metrics.arrays import Floats, Ints, Mask
from collateral.metrics.similarity import NUM_BINS, assign_bins, bin_count, bin_edges, bin_mean
from collateral.metrics.statistics import difference_sd

BINNED = ("retain", "test")  # subsets whose examples are assigned to bins


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the similarity bins, each run's differences from the reference, and their noise."""
    for name in BINNED:
        binned = Binned(cell, name)
        yield from _describe_bins(binned)
        yield from _accuracies(binned)
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
    """The examples of one subset: their similarity bins, and who is near the forget set or far."""

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
    def masks(self) -> dict[str, Mask]:
        """Masks of the examples near the forget set and far from it."""
        return split_by_distance(self.cell, self.name)

    def average_parts(self, values: Floats) -> Floats:
        """Return the mean of `values` over the near and over the far examples; NaN without any."""
        parts = (values[mask] for mask in self.masks.values())
        return np.array([part.mean() if len(part) else math.nan for part in parts])

    def correctness(self, model: Result | Epoch) -> Floats:
        """Return, for each example, whether the prediction of a model is correct."""
        predictions = self.cell.sets(model.train.prediction, model.test.prediction)
        labels = self.cell.sets(self.cell.labels.train, self.cell.labels.test)
        is_right: Floats = predictions[self.name] == labels[self.name]
        return is_right

    @cached_property
    def accuracies(self) -> dict[tuple[str, int], Floats]:
        """Accuracies near the forget set and far from it, by name and seed of the run."""
        return {(one.run, one.seed): self.accuracy(one) for one in self.cell.all_results()}

    def accuracy(self, model: Result | Epoch) -> Floats:
        """Return the accuracy of a model near the forget set, and far from it."""
        return self.average_parts(self.correctness(model))

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
    for seed, bins in zip(binned.cell.seeds, binned.bins, strict=True):
        for b, count in enumerate(bin_count(bins)):
            yield Row(reference, "bin_count", float(count), seed, name, b)
    for part, mask in binned.masks.items():
        yield Row(reference, f"{part}_count", float(mask.sum()), set=name)
    labels = binned.cell.sets(binned.cell.labels.train, binned.cell.labels.test)[name]
    classes, counts = np.unique(labels[binned.masks[NEAR]], return_counts=True)
    for c, count in zip(classes, counts, strict=True):
        at = binned.cell.labels.class_names[c]
        yield Row(reference, "near_class", float(count), set=name, at=at)


def _accuracies(binned: Binned) -> Iterator[Row]:
    """Yield the accuracy of every run on near examples and on far examples, by seed."""
    for result in binned.cell.all_results():
        accuracies = binned.accuracies[result.run, result.seed]
        for part, value in zip(binned.masks, accuracies, strict=True):
            row = Row(result.run, f"{part}_accuracy", float(value), result.seed, binned.name)
            yield without_value(row) if result.is_diverged else row


def _measure_noise(binned: Binned) -> Iterator[Row]:
    """Yield the standard deviations of the differences between retrained models.

    They are yielded for each bin, for near and far examples, and for near minus far.
    """
    reference, name = binned.cell.reference, binned.name
    sound = [result for result in binned.cell.retrained() if not result.is_diverged]
    places = [binned.cell.seeds.index(result.seed) for result in sound]
    measures = [binned.measures(result) for result in sound]

    def by_bin(measure: str) -> Floats:
        found = [[bin_mean(one[measure], binned.bins[i]) for one in measures] for i in places]
        return np.reshape(found, (len(sound), len(sound), NUM_BINS))

    for measure in ("acc", "conf"):
        for b, value in enumerate(difference_sd(by_bin(measure))):
            yield Row(reference, f"delta_{measure}_sd", float(value), set=name, at=b)
    # Near and far examples are the same for all seeds: one row of accuracies for each Retrain.
    parts = np.reshape([binned.accuracies[one.run, one.seed] for one in sound], (len(sound), 2))
    same = np.broadcast_to(parts, (len(sound), *parts.shape))
    near, far = difference_sd(same)
    damage = difference_sd(np.diff(same))[0]
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
    accuracies = (binned.accuracies[run, seed] for run in (binned.cell.reference, result.run))
    for part, reference, accuracy in zip(binned.masks, *accuracies, strict=True):
        value = reference - accuracy
        yield Row(result.run, f"{part}_loss", float(value), seed, binned.name)


def _losses_by_epoch(binned: Binned, result: Result) -> Iterator[Row]:
    """Yield the loss of accuracy on near and on far examples after each epoch of a run.

    A loss is NaN if the reference or the model of the epoch diverged.
    """
    is_lost = binned.cell.reference_result(result.seed).is_diverged
    before = binned.accuracies[binned.cell.reference, result.seed]
    for epoch, model in enumerate(result.epochs()):
        losses = before - binned.accuracy(model)
        for part, value in zip(binned.masks, losses, strict=True):
            name = f"{TRACKED}{part}_loss"
            row = Row(result.run, name, float(value), result.seed, binned.name, epoch)
            yield without_value(row) if is_lost or model.is_diverged else row


def _disagreements(cell: CellResults, result: Result) -> Iterator[Row]:
    before = cell.reference_result(result.seed)
    own, other = (cell.sets(r.train.prediction, r.test.prediction) for r in (result, before))
    is_lost = result.is_diverged or before.is_diverged
    for name in own:
        value = math.nan if is_lost else disagreement(own[name], other[name])
        yield Row(result.run, "disagreement", value, result.seed, name)

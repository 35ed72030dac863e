"""The numbers of one run of one seed: its own, and against Retrain of the same seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from collateral.core.dataset import Labels
from collateral.core.diagnosis import Diagnosis
from collateral.core.neighbours import Neighbours
from collateral.core.outputs import ModelOutputs
from collateral.core.split import Split
from collateral.metrics.accuracy import accuracies
from collateral.metrics.classes import class_accuracy, kept_classes
from collateral.metrics.locality import bin_mean, disagreement
from collateral.metrics.membership import Draw, draw, scores
from collateral.metrics.similarity import bin_edges, bin_of
from collateral.metrics.support import against_retrain, support_numbers

BINNED = ("retain", "test")  # the sets whose examples are sorted into bins

Array = NDArray[Any]
ByName = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Cell:
    """What all runs of a cell share."""

    name: str
    labels: Labels
    split: Split
    neighbours: Neighbours

    def sets(self, train: Array, test: Array) -> dict[str, Array]:
        """Part what is known of the train and the test examples (last axis) by set."""
        retain, forget = train[..., self.split.retain], train[..., self.split.forget]
        return {"retain": retain, "forget": forget, "test": test}

    @cached_property
    def similarity(self) -> dict[str, NDArray[np.float32]]:
        """Similarity to the forget set by seed and example, of each set."""
        return self.sets(self.neighbours.train_similarity, self.neighbours.test_similarity)

    @cached_property
    def kept_classes(self) -> tuple[int, ...]:
        """The classes that remain where whole classes are deleted; else none."""
        return kept_classes(self.labels, self.split)

    def row(self, seed: int) -> int:
        """Return the place of a seed among the similarities."""
        return int(np.flatnonzero(self.neighbours.seeds == seed)[0])


@dataclass(frozen=True)
class Result:
    """A run of one seed: what it is, how it ended, and what its model says of every example."""

    run: str
    kind: str
    seed: int
    status: str
    outputs: ModelOutputs
    extra: Mapping[str, float]
    diagnosis: Diagnosis | None = None  # of LTD, where supports of several sizes were tried

    @property
    def is_diverged(self) -> bool:
        """Whether the outputs mean nothing."""
        return self.status == "diverged"


@dataclass(frozen=True)
class Reference:
    """What all runs of one seed are held against."""

    drawn: Draw
    bins: dict[str, NDArray[np.int64]]  # each example's bin, of the binned sets
    is_diverged: bool  # Retrain is; then what follows means nothing
    profile: ByName  # Retrain's accuracy and confidence by bin
    profile_on: tuple[ByName, ...]  # the same on every seed's bins, for the noise floor
    predictions: dict[str, Array]  # by set
    forget: NDArray[np.float64]  # (F, C), Retrain's class probabilities of the forget set
    # By name of class; both are empty unless whole classes are deleted.
    class_accuracy: dict[str, float]  # on the test set
    class_similarity: dict[str, float]  # to what is deleted, of the classes that remain


def edges_of(cell: Cell) -> ByName:
    """Return the edges of the bins of each binned set, over all seeds."""
    return {name: bin_edges(cell.similarity[name]) for name in BINNED}


def reference_of(cell: Cell, retrained: Result, edges: ByName) -> Reference:
    """Return what the runs of Retrain's seed are held against."""
    row = cell.row(retrained.seed)
    bins_by_seed = [
        {name: bin_of(cell.similarity[name][other], edges[name]) for name in BINNED}
        for other in range(len(cell.neighbours.seeds))
    ]
    profiles = tuple(_profile(cell, retrained, bins) for bins in bins_by_seed)
    return Reference(
        drawn=draw(cell.split, len(cell.labels.test), retrained.seed),
        bins=bins_by_seed[row],
        is_diverged=retrained.is_diverged,
        profile=profiles[row],
        profile_on=profiles,
        predictions=_predictions(cell, retrained),
        forget=_forget_probability(cell, retrained),
        class_accuracy=_class_accuracy(cell, retrained),
        class_similarity={
            cell.labels.class_names[c]: float(cell.neighbours.class_similarity[row, c])
            for c in cell.kept_classes
        },
    )


def own_numbers(cell: Cell, result: Result, reference: Reference) -> dict[str, float]:
    """Return accuracies and attack scores; NaN where the run diverged."""
    train, test = result.outputs.train.prediction, result.outputs.test.prediction
    values = accuracies(train, test, cell.labels, cell.split)
    values |= scores(result.outputs, cell.labels, cell.split, reference.drawn)
    return _undefined(values) if result.is_diverged else values


def numbers_against(cell: Cell, result: Result, reference: Reference) -> dict[str, float]:
    """Return deltas by bin and class, disagreement by set; NaN where run or Retrain diverged."""
    profile = _profile(cell, result, reference.bins)
    values = by_bin("delta_", {name: reference.profile[name] - profile[name] for name in profile})
    for name, prediction in _predictions(cell, result).items():
        values[f"disagreement_{name}"] = disagreement(prediction, reference.predictions[name])
    for name, rate in _class_accuracy(cell, result).items():
        values[f"class_drop:{name}"] = reference.class_accuracy[name] - rate
    return _undefined(values) if result.is_diverged or reference.is_diverged else values


def support_size_numbers(cell: Cell, result: Result, reference: Reference) -> dict[str, float]:
    """Return the numbers of LTD's teachers by size of the support; nothing of other runs."""
    if result.diagnosis is None:
        return {}
    numbers = support_numbers(result.diagnosis, cell.labels.train[cell.split.forget])
    return numbers | against_retrain(result.diagnosis, reference.forget)


def by_bin(prefix: str, arrays: Mapping[str, Array]) -> dict[str, float]:
    """Return the value of each bin as `<prefix><name>:<bin>`."""
    return {
        f"{prefix}{name}:{index:02d}": float(value)
        for name, values in arrays.items()
        for index, value in enumerate(values)
    }


def _profile(cell: Cell, result: Result, bins: dict[str, NDArray[np.int64]]) -> ByName:
    """Return accuracy and mean confidence by bin, as `acc:<set>` and `conf:<set>`."""
    outputs = result.outputs
    labels = cell.sets(cell.labels.train, cell.labels.test)
    predictions = _predictions(cell, result)
    confidences = cell.sets(outputs.train.confidence, outputs.test.confidence)
    profile = {}
    for name, index in bins.items():
        profile[f"acc:{name}"] = bin_mean(predictions[name] == labels[name], index)
        profile[f"conf:{name}"] = bin_mean(confidences[name], index)
    return profile


def _class_accuracy(cell: Cell, result: Result) -> dict[str, float]:
    """Return test accuracy by name of class; nothing unless whole classes are deleted."""
    if not cell.kept_classes:
        return {}
    names, label = cell.labels.class_names, cell.labels.test
    rates = class_accuracy(result.outputs.test.prediction, label, len(names))
    return dict(zip(names, rates.tolist(), strict=True))


def _forget_probability(cell: Cell, result: Result) -> NDArray[np.float64]:
    """Return the class probabilities of the forget set; NaN where the run diverged."""
    logits = result.outputs.train.logits[cell.split.forget].astype(np.float64)
    return np.full_like(logits, np.nan) if result.is_diverged else softmax(logits, axis=1)


def _undefined(values: Mapping[str, float]) -> dict[str, float]:
    return dict.fromkeys(values, float("nan"))


def _predictions(cell: Cell, result: Result) -> dict[str, Array]:
    return cell.sets(result.outputs.train.prediction, result.outputs.test.prediction)

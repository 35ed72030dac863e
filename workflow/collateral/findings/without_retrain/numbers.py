"""How far forgotten examples are from the base's unseen ones, and what a teacher knows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr, softmax

from collateral.contract.rows import Row
from collateral.findings._shared.statistics import mean_of_defined

if TYPE_CHECKING:
    from collateral.results.cell import CellResults

Floats = NDArray[np.float64]


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the divergence of every run, the base's own among them, and the teacher's estimate."""
    forget, labels = cell.split.forget, cell.labels
    count = len(labels.class_names)
    unseen = {
        seed: class_means(cell.reference_result(seed).test.logits, labels.test, count)
        for seed in cell.seeds
    }
    for result in cell.all_results():
        forgotten = class_means(result.train.logits[forget], labels.train[forget], count)
        value = math.nan if result.is_diverged else divergence(forgotten, unseen[result.seed])
        yield Row(result.run, "rf_js", value, result.seed)
    yield Row(cell.reference, "estimated_ua", estimated_ua(cell))


def estimated_ua(cell: CellResults) -> float:
    """Return the UA of the teacher that tuning asks; else of the methods' own teachers, if any."""
    asked = cell.teacher_ua()
    if not math.isnan(asked):
        return asked
    own = [run for run in cell.runs if "@" not in run]
    return mean_of_defined(value for run in own for value in cell.values(run, "teacher_ua"))


def class_means(logits: NDArray[np.floating], label: NDArray[np.int64], count: int) -> Floats:
    """Return the mean class probabilities of the examples of each class, (C, C); NaN of none."""
    probability = softmax(logits.astype(np.float64), axis=1)
    means = np.full((count, probability.shape[1]), np.nan)
    for c in np.unique(label):
        means[c] = probability[label == c].mean(axis=0)
    return means


def divergence(one: Floats, other: Floats) -> float:
    """Return the Jensen-Shannon divergence in nats, mean over the classes that both have."""
    known = ~np.isnan(one).any(axis=1) & ~np.isnan(other).any(axis=1)
    p, q = one[known], other[known]
    middle = (p + q) / 2
    by_class = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2
    return float(np.maximum(by_class, 0).mean()) if known.any() else math.nan

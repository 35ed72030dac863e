"""Accuracy on the forget, retained and test examples, and on those of the affected classes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import Row
from collateral.results.dataset import Labels
from collateral.results.split import Split

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result


def of_run(cell: CellResults, result: Result) -> Iterator[Row]:
    """Yield the accuracies of a run; undefined where it diverged."""
    train, test = result.train.prediction, result.test.prediction
    for name, value in accuracies(train, test, cell.labels, cell.split).items():
        yield Row(result.run, name, math.nan if result.is_diverged else value, result.seed)


def accuracies(
    train_prediction: NDArray[np.int64],
    test_prediction: NDArray[np.int64],
    labels: Labels,
    split: Split,
) -> dict[str, float]:
    """Return ua, ra, ta, and each on the examples of the affected classes."""
    sets = {
        "ua": (train_prediction[split.forget], labels.train[split.forget]),
        "ra": (train_prediction[split.retain], labels.train[split.retain]),
        "ta": (test_prediction, labels.test),
    }
    values = {}
    for name, (prediction, label) in sets.items():
        is_affected = np.isin(label, split.affected)
        values[name] = accuracy(prediction, label)
        values[f"{name}_affected"] = accuracy(prediction[is_affected], label[is_affected])
    return values


def accuracy(prediction: NDArray[np.int64], label: NDArray[np.int64]) -> float:
    """Return the share of right predictions in [0, 1]; NaN where there is no example."""
    return float(np.mean(prediction == label)) if len(label) else float("nan")

"""Accuracy of every run on the forget, retained and test examples, and on the affected classes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from collateral.contract.rows import Row
from collateral.metrics.accuracy import accuracies

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result


def of_run(cell: CellResults, result: Result) -> Iterator[Row]:
    """Yield the accuracies of a run; they are NaN if the run diverged."""
    prediction = cell.sets(result.train.prediction, result.test.prediction)
    label = cell.sets(cell.labels.train, cell.labels.test)
    for name, value in accuracies(prediction, label, cell.split.affected).items():
        yield Row(result.run, name, math.nan if result.is_diverged else value, result.seed)

"""Accuracy of every run on the forget, retained and test examples, and on the affected classes."""

import math
from collections.abc import Iterator

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.accuracy import accuracies


def of_run(cell: CellResults, result: Result) -> Iterator[Row]:
    """Yield all accuracies of a run in one seed; all are NaN if the run diverged."""
    prediction = cell.sets(result.train.prediction, result.test.prediction)
    label = cell.sets(cell.labels.train, cell.labels.test)
    for name, value in accuracies(prediction, label, cell.split.affected).items():
        yield Row(result.run, name, math.nan if result.is_diverged else value, result.seed)

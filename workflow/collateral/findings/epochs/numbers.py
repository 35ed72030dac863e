"""Accuracies after every epoch of the tracked runs, computed from epochs.npz."""

import math
from collections.abc import Iterator

from collateral.contract.rows import TRACKED, Row
from collateral.findings.inputs import CellResults
from collateral.metrics.accuracy import accuracies


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield one accuracy per tracked run, seed, metric and epoch; epoch 0 is the base model.

    The accuracies after an epoch are NaN if the model diverged in it.
    """
    label = cell.sets(cell.labels.train, cell.labels.test)
    for result in cell.results():
        for epoch, model in enumerate(result.epochs() if result.run in cell.tracked else ()):
            prediction = cell.sets(model.train.prediction, model.test.prediction)
            for name, value in accuracies(prediction, label, cell.split.affected).items():
                shown = math.nan if model.is_diverged else value
                yield Row(result.run, f"{TRACKED}{name}", shown, result.seed, at=epoch)

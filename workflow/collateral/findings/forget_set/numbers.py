"""Count the train examples and the forgotten examples of each affected class."""

from collections.abc import Iterator

import numpy as np

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield, for each affected class, its number of train examples and of forgotten examples."""
    names, label = cell.labels.class_names, cell.labels.train
    counted = {"train_count": label, "forget_count": label[cell.split.forget]}
    for metric, labels in counted.items():
        counts = np.bincount(labels, minlength=len(names))
        for c in cell.split.affected:
            yield Row(cell.reference, metric, float(counts[c]), at=names[c])

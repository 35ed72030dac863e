"""Accuracy of every run on the forgotten subclass's test images and on its siblings."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.accuracy import accuracy
from collateral.metrics.arrays import Mask

KIND = "where"  # kind of forget set that takes values of a column


@dataclass(frozen=True)
class Siblings:
    """Masks of the examples of the forgotten subclass and of its siblings."""

    forgotten_test: Mask
    retained: Mask  # retained examples of the siblings, among the train examples
    test: Mask
    by_name: dict[str, Mask]  # test examples of each sibling


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the accuracies of every run; nothing if no subclass is forgotten."""
    found = find_siblings(cell)
    if found is None:
        return
    for name, mask in found.by_name.items():
        yield Row(cell.reference, "sibling_examples", float(mask.sum()), at=name)
    for result in cell.all_results():
        yield from _measure(cell, found, result)


def find_siblings(cell: CellResults) -> Siblings | None:
    """Return the siblings of the forgotten subclass; None if no subclass is forgotten.

    The column must divide the classes: each of its values is of one class alone.
    """
    chosen, labels = cell.split.chosen, cell.labels
    column = chosen.get("column", "")
    if chosen.get("kind") != KIND or column not in {*labels.columns} & {*labels.test_columns}:
        return None
    train, test = (one[column].astype(str) for one in (labels.columns, labels.test_columns))
    pairs = np.unique(np.stack([train, labels.train.astype(str)]), axis=1)
    if len({*pairs[0].tolist()}) < pairs.shape[1]:
        return None
    wanted = [str(value) for value in chosen["is"]]
    is_forgotten = np.isin(test, wanted)
    is_sibling = np.isin(labels.test, cell.split.affected) & ~is_forgotten
    retained = np.zeros(len(train), dtype=bool)
    retained[cell.split.retain] = True
    retained &= np.isin(labels.train, cell.split.affected) & ~np.isin(train, wanted)
    if not is_forgotten.any() or not is_sibling.any():
        return None
    names: NDArray[np.str_] = np.unique(test[is_sibling])
    return Siblings(
        is_forgotten,
        retained,
        is_sibling,
        {str(name): is_sibling & (test == name) for name in names},
    )


def _measure(cell: CellResults, found: Siblings, result: Result) -> Iterator[Row]:
    """Yield the accuracies of one run in one seed; all are NaN if the run diverged."""
    test: dict[tuple[str, str | None], Mask] = {("subclass_ta", None): found.forgotten_test}
    test["siblings_ta", None] = found.test
    test |= {("sibling_ta", name): mask for name, mask in found.by_name.items()}
    train: dict[tuple[str, str | None], Mask] = {("siblings_ra", None): found.retained}
    for masks, label, is_test in (
        (test, cell.labels.test, True),
        (train, cell.labels.train, False),
    ):
        for (metric, at), mask in masks.items():
            value = math.nan
            if not result.is_diverged:
                outputs = result.test if is_test else result.train
                value = accuracy(outputs.prediction[mask], label[mask])
            yield Row(result.run, metric, value, result.seed, at=at)

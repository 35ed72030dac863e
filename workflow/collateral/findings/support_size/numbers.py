"""Metrics of LTD's teachers by the size of their support (train set).

A teacher's histogram is the mean of its class probabilities over the forget set. As in the
student's training targets, only each example's few largest probabilities are kept, renormalised.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from collateral.contract.rows import Row
from collateral.findings.inputs import CellResults, Result
from collateral.metrics.divergence import (
    Floats,
    argmax_accuracy,
    histogram,
    histogram_kl,
    keep_largest,
    mean_pairwise_kl,
)
from collateral.results.outputs import SupportSizes


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the metrics of LTD's teachers by support size, and how `k: auto` chose the size.

    Also yield KL divergences between the teachers of different seeds.
    """
    label = cell.labels.train[cell.split.forget]
    for run in cell.support_sized:
        by_seed = [cell.support_sizes(seed) for seed in cell.seeds]
        retrained = [_forget_probability(cell, result) for result in cell.retrained()]
        for seed, sizes, probability in zip(cell.seeds, by_seed, retrained, strict=True):
            yield from size_rows(run, seed, sizes, label)
            yield from bin_rows(run, seed, sizes)
            yield from retrain_rows(run, seed, sizes, probability)
        yield from seed_rows(run, by_seed, retrained)


def _forget_probability(cell: CellResults, result: Result) -> NDArray[np.float64]:
    """Return a run's class probabilities on the forget set; all NaN if the run diverged."""
    logits = result.train.logits[cell.split.forget].astype(np.float64)
    return np.full_like(logits, np.nan) if result.is_diverged else softmax(logits, axis=1)


def size_rows(run: str, seed: int, sizes: SupportSizes, label: NDArray[np.int64]) -> Iterator[Row]:
    """Yield the metrics of one seed's teachers, one teacher per support size.

    `label` has the labels of the forget set.
    """
    soft, top = sizes.soft_labels, int(sizes.top)
    kl = [histogram_kl(new, old, len(label)) for old, new in pairwise(_histograms(sizes))]
    columns = {
        "kl_previous": [np.nan, *kl],
        "teacher_ua": [argmax_accuracy(rows, label) for rows in soft],
        "top_mass": [float(keep_largest(rows, top).sum(axis=1).mean()) for rows in soft],
        "epochs": sizes.epochs,
        "accuracy": sizes.support_accuracy,
        "least_similarity": sizes.least_similarity,
        "num_classes": sizes.num_classes,
    }
    yield from _column_rows(run, seed, sizes.sizes, columns)


def bin_rows(run: str, seed: int, sizes: SupportSizes) -> Iterator[Row]:
    """Yield the accuracy that gradient ascent costs in each bin of similarity.

    Also yield the learning rate, and the support size that `k: auto` chose.
    """
    columns = {
        "drop": sizes.step_drop,
        "bin_low": sizes.step_edges[:-1],
        "bin_high": sizes.step_edges[1:],
        "bin_count": sizes.step_counts,
    }
    yield from _column_rows(run, seed, range(len(sizes.step_drop)), columns)
    yield Row(run, "support_step_rate", float(sizes.step_rate), seed)
    yield Row(run, "support_auto", float(sizes.auto_size), seed)


def _column_rows(
    run: str, seed: int, places: Sequence[int] | NDArray[Any], columns: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield one row per metric and index; the index is a support size or the number of a bin."""
    for name, values in columns.items():
        for at, value in zip(places, values, strict=True):
            yield Row(run, f"support_{name}", float(value), seed, at=int(at))


def retrain_rows(run: str, seed: int, sizes: SupportSizes, retrained: Floats) -> Iterator[Row]:
    """Yield the KL divergence of each support size's teacher from Retrain, on the forget set.

    `retrained` has Retrain's class probabilities on the forget set.
    """
    reference = histogram(retrained, int(sizes.top))
    kl = [histogram_kl(own, reference, len(retrained)) for own in _histograms(sizes)]
    yield from _column_rows(run, seed, sizes.sizes, {"kl_retrain": kl})


def seed_rows(
    run: str, by_seed: Sequence[SupportSizes], retrained: Sequence[Floats]
) -> Iterator[Row]:
    """Yield the mean KL divergence between two seeds' teachers of one size, and two Retrains.

    The mean is over all ordered pairs of seeds; with one seed it is undefined.
    """
    count, top = by_seed[0].soft_labels.shape[1], int(by_seed[0].top)
    histograms = np.array([_histograms(sizes) for sizes in by_seed])  # (seeds, sizes, classes)
    for size, own in zip(by_seed[0].sizes, histograms.swapaxes(0, 1), strict=True):
        yield Row(run, "support_kl_seeds", mean_pairwise_kl(own, count), at=int(size))
    references = [histogram(probability, top) for probability in retrained]
    yield Row(run, "support_kl_retrains", mean_pairwise_kl(references, count))


def _histograms(sizes: SupportSizes) -> NDArray[np.float64]:
    """Return every teacher's mean class probabilities on the forget set, (sizes, classes)."""
    return np.array([histogram(soft, int(sizes.top)) for soft in sizes.soft_labels])

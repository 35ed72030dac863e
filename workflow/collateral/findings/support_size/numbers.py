"""Histograms of the forget set by teachers on supports of every size, and how far they are apart.

A model's histogram is the mean over the forget set of its class probabilities, of which each
example keeps the largest few, renormalised, as the student is shown them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from collateral.contract.rows import Row
from collateral.findings._shared.statistics import Floats, mean_of_defined
from collateral.results.experiments import SupportSizes

if TYPE_CHECKING:
    from collateral.results.cell import CellResults, Result


def numbers(cell: CellResults) -> Iterator[Row]:
    """Yield the teachers' numbers by size, the step's by bin, and how far seeds are apart."""
    label = cell.labels.train[cell.split.forget]
    for run in cell.support_sized:
        found = [cell.support_sizes(seed) for seed in cell.seeds]
        retrained = [_forget_probability(cell, result) for result in cell.retrained()]
        for seed, sizes, probability in zip(cell.seeds, found, retrained, strict=True):
            yield from by_size(run, seed, sizes, label)
            yield from by_bin(run, seed, sizes)
            yield from against_retrain(run, seed, sizes, probability)
        yield from between_seeds(run, found, retrained)


def _forget_probability(cell: CellResults, result: Result) -> NDArray[np.float64]:
    """Return the class probabilities of the forget set; NaN where the run diverged."""
    logits = result.train.logits[cell.split.forget].astype(np.float64)
    return np.full_like(logits, np.nan) if result.is_diverged else softmax(logits, axis=1)


def by_size(run: str, seed: int, sizes: SupportSizes, label: NDArray[np.int64]) -> Iterator[Row]:
    """Yield what the teacher of every size is like; `label` is the forget set's."""
    soft, top = sizes.soft_labels, int(sizes.top)
    kl = [divergence(new, old, len(label)) for old, new in pairwise(histograms(sizes))]
    columns: dict[str, Sequence[float] | NDArray[np.generic]] = {
        "kl_previous": [np.nan, *kl],
        "teacher_ua": [_accuracy(rows, label) for rows in soft],
        "top_mass": [float(largest(rows, top).sum(axis=1).mean()) for rows in soft],
        "epochs": sizes.epochs,
        "accuracy": sizes.support_accuracy,
        "least_similarity": sizes.least_similarity,
        "num_classes": sizes.num_classes,
    }
    for name, values in columns.items():
        for size, value in zip(sizes.sizes, values, strict=True):
            yield Row(run, f"support_{name}", float(value), seed, at=int(size))


def by_bin(run: str, seed: int, sizes: SupportSizes) -> Iterator[Row]:
    """Yield the damage of the gradient ascent step in each bin, and the examples of `k: auto`."""
    columns = {
        "drop": sizes.step_drop,
        "bin_low": sizes.step_edges[:-1],
        "bin_high": sizes.step_edges[1:],
        "bin_count": sizes.step_counts,
    }
    for name, values in columns.items():
        for b, value in enumerate(values):
            yield Row(run, f"support_{name}", float(value), seed, at=b)
    yield Row(run, "support_step_rate", float(sizes.step_rate), seed)
    yield Row(run, "support_auto", float(sizes.auto_size), seed)


def against_retrain(run: str, seed: int, sizes: SupportSizes, retrained: Floats) -> Iterator[Row]:
    """Yield KL(teacher, Retrain) for every size; Retrain's probabilities of D_f are (F, C)."""
    reference = histogram(retrained, int(sizes.top))
    for size, h in zip(sizes.sizes, histograms(sizes), strict=True):
        kl = divergence(h, reference, len(retrained))
        yield Row(run, "support_kl_retrain", kl, seed, at=int(size))


def between_seeds(
    run: str, found: Sequence[SupportSizes], retrained: Sequence[Floats]
) -> Iterator[Row]:
    """Yield the mean KL between two seeds: of their teachers of one size, of their Retrains.

    Seeds are taken in both orders; with one seed it is undefined.
    """
    count, top = found[0].soft_labels.shape[1], int(found[0].top)
    by_seed = np.array([histograms(sizes) for sizes in found])  # (S, K, C)
    for size, of_size in zip(found[0].sizes, by_seed.swapaxes(0, 1), strict=True):
        yield Row(run, "support_kl_seeds", _between(of_size, count), at=int(size))
    references = [histogram(probability, top) for probability in retrained]
    yield Row(run, "support_kl_retrains", _between(references, count))


def _between(of_seeds: Sequence[Floats] | Floats, count: int) -> float:
    return mean_of_defined(divergence(p, q, count) for p, q in permutations(of_seeds, 2))


def _accuracy(soft: Floats, label: NDArray[np.int64]) -> float:
    """Return a teacher's accuracy on the forget set; NaN for one that diverged."""
    return float(np.mean(soft.argmax(axis=1) == label)) if np.isfinite(soft).all() else float("nan")


def histograms(sizes: SupportSizes) -> NDArray[np.float64]:
    """Return the histogram of every teacher, (K, C)."""
    return np.array([histogram(soft, int(sizes.top)) for soft in sizes.soft_labels])


def histogram(probability: Floats, top: int) -> NDArray[np.float64]:
    """Return the mean of the rows (N, C), of each its `top` largest entries, renormalised."""
    kept = largest(probability, top)
    return np.asarray((kept / kept.sum(axis=1, keepdims=True)).mean(axis=0))


def largest(probability: Floats, top: int) -> NDArray[np.float64]:
    """Return the `top` largest entries of every row (N, C) as they are, and 0 for all others."""
    rows = probability.astype(np.float64)
    top = min(top, rows.shape[1])
    kept = np.argpartition(rows, -top, axis=1)[:, -top:]
    result = np.zeros_like(rows)
    np.put_along_axis(result, kept, np.take_along_axis(rows, kept, axis=1), axis=1)
    return result


def divergence(p: Floats, q: Floats, count: int) -> float:
    """Return KL(p, q) in nats of two histograms over `count` examples each.

    A class that nobody is predicted as would make it infinite, so both are taken with one example
    more, which is as much of every class.
    """
    p, q = ((count * h + 1 / len(h)) / (count + 1) for h in (p, q))
    return float(np.sum(p * np.log(p / q)))

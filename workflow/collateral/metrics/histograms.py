"""Histograms of predicted classes over the forget set, and their KL divergence (support size)."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def keep_largest(probability: Floats, top: int) -> NDArray[np.float64]:
    """Return the `top` largest entries of each row (N, C), and 0 for all others."""
    rows = probability.astype(np.float64)
    top = min(top, rows.shape[1])
    columns = np.argpartition(rows, -top, axis=1)[:, -top:]
    result = np.zeros_like(rows)
    np.put_along_axis(result, columns, np.take_along_axis(rows, columns, axis=1), axis=1)
    return result


def histogram(probability: Floats, top: int) -> NDArray[np.float64]:
    """Return the mean over rows (N, C) of their `top` largest entries, each row renormalised."""
    largest = keep_largest(probability, top)
    return np.asarray((largest / largest.sum(axis=1, keepdims=True)).mean(axis=0))


def histogram_kl(p: Floats, q: Floats, count: int) -> float:
    """Return KL(p, q) in nats of two histograms over `count` examples each.

    One example with uniform class probabilities is added to both, so that the divergence is
    finite also for classes that nobody is predicted as.
    """
    p, q = ((count * h + 1 / len(h)) / (count + 1) for h in (p, q))
    return float(np.sum(p * np.log(p / q)))


def mean_pairwise_kl(histograms: Sequence[Floats] | Floats, count: int) -> float:
    """Return the mean KL over all ordered pairs whose KL is defined; NaN without pairs."""
    found = [histogram_kl(p, q, count) for p, q in permutations(histograms, 2)]
    known = [kl for kl in found if not np.isnan(kl)]
    return float(np.mean(known)) if known else float("nan")


def argmax_accuracy(probability: Floats, label: NDArray[np.int64]) -> float:
    """Return the share of rows whose largest entry is at the label; NaN if a row is not finite."""
    is_finite = np.isfinite(probability).all()
    return float(np.mean(probability.argmax(axis=1) == label)) if is_finite else float("nan")

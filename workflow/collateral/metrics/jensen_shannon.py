"""Jensen-Shannon divergences of class probabilities: ZRF and LoTUS's RF-JS."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr, softmax

Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating]


def jensen_shannon(p: Floats, q: Floats) -> Floats:
    """Return the Jensen-Shannon divergence in nats of each pair of rows."""
    middle = (p + q) / 2
    divergence: Floats = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2
    return divergence


def zrf(logits: AnyFloats, untrained_logits: AnyFloats) -> float:
    """Return ZRF: 1 minus the mean divergence of a model's predictions from an untrained net's."""
    p, q = (softmax(rows.astype(np.float64), axis=1) for rows in (logits, untrained_logits))
    return float(1 - jensen_shannon(p, q).mean())


def class_means(logits: AnyFloats, label: NDArray[np.int64], num_classes: int) -> Floats:
    """Return the mean predicted probabilities of each class's examples; NaN without examples."""
    probability = softmax(logits.astype(np.float64), axis=1)
    means = np.full((num_classes, probability.shape[1]), np.nan)
    for c in np.unique(label):
        means[c] = probability[label == c].mean(axis=0)
    return means


def rf_js(class_means: Floats, other_class_means: Floats) -> float:
    """Return the mean divergence over the classes in both arrays; NaN without a common class."""
    known = ~np.isnan(class_means).any(axis=1) & ~np.isnan(other_class_means).any(axis=1)
    by_class = jensen_shannon(class_means[known], other_class_means[known])
    return float(np.maximum(by_class, 0).mean()) if known.any() else float("nan")

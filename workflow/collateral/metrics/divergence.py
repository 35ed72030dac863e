"""Divergences of models' outputs: KL, Jensen-Shannon, ZRF, RF-JS, histograms, relative MMD.

Divergences of single examples are computed from float16 logits in float32, in chunks that stay in
the processor's cache. The maximum mean discrepancy (MMD) is paired: three models answer for the
same images, so the samples are not independent. The paired form leaves out the terms of an image
with itself; a copy of a model then has distance 0 from it.
"""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.special import rel_entr, softmax

from collateral.metrics.arrays import AnyFloats, Floats, Halves, Ints, Singles
from collateral.metrics.similarity import class_means

CHUNK = 30_000  # number of probabilities that are processed at a time
SMALLEST = np.float32(1e-37)  # lower bound of probabilities before taking logarithms

LEAST_EXAMPLES = 24  # minimum number of examples for relative MMD; with fewer, it has little power
# Maximum number of examples for relative MMD; its cost grows with the square of this number.
MOST_EXAMPLES = 1000


def divergences(reference: Halves, other: Halves) -> tuple[Singles, Singles]:
    """Return Jensen-Shannon divergence and KL(reference, other) for each example (row), in nats."""
    js, kl = (np.empty(len(reference), np.float32) for _ in range(2))
    count = max(1, CHUNK // reference.shape[1])
    for start in range(0, len(reference), count):
        part = slice(start, start + count)
        js[part], kl[part] = _divergences(reference[part], other[part])
    return js, kl


def _divergences(reference: Halves, other: Halves) -> tuple[Singles, Singles]:
    (p, log_p), (q, log_q) = _softmax(reference), _softmax(other)
    log_m = np.log(np.maximum((p + q) / 2, SMALLEST))
    own = np.vecdot(p, log_p)
    js = (own + np.vecdot(q, log_q) - np.vecdot(p, log_m) - np.vecdot(q, log_m)) / 2
    # Rounding may make the divergence of equal distributions negative.
    return np.maximum(js, 0), np.maximum(own - np.vecdot(p, log_q), 0)


def _softmax(logits: Halves) -> tuple[Singles, Singles]:
    """Return probabilities and their logarithms; NaN for rows with a logit that is not finite."""
    z = logits.astype(np.float32)
    with np.errstate(invalid="ignore"):
        z -= z.max(axis=1, keepdims=True)
    p = np.exp(z)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    z -= np.log(total)
    return p, z


def jensen_shannon(p: Floats, q: Floats) -> Floats:
    """Return the Jensen-Shannon divergence of each row of p from the same row of q, in nats."""
    middle = (p + q) / 2
    return (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / 2


def zrf(logits: AnyFloats, untrained_logits: AnyFloats) -> float:
    """Return ZRF: 1 minus the mean JS divergence of a model's outputs from an untrained model's."""
    p, q = (softmax(rows.astype(np.float64), axis=1) for rows in (logits, untrained_logits))
    return float(1 - jensen_shannon(p, q).mean())


def mean_probabilities(logits: AnyFloats, label: Ints, num_classes: int) -> Floats:
    """Return predicted probabilities, averaged over each class's examples; NaN without any."""
    return class_means(softmax(logits.astype(np.float64), axis=1), label, num_classes)


def rf_js(p: Floats, q: Floats) -> float:
    """Return the JS divergence of two arrays of mean probabilities, averaged over classes (rows).

    Classes with NaN in either array are left out; NaN if no class is left.
    """
    known = ~np.isnan(p).any(axis=1) & ~np.isnan(q).any(axis=1)
    by_class = jensen_shannon(p[known], q[known])
    return float(np.maximum(by_class, 0).mean()) if known.any() else float("nan")


def keep_largest(probability: AnyFloats, top: int) -> Floats:
    """Return the array with all but the `top` largest entries of each row set to 0."""
    rows = probability.astype(np.float64)
    top = min(top, rows.shape[1])
    columns = np.argpartition(rows, -top, axis=1)[:, -top:]
    result = np.zeros_like(rows)
    np.put_along_axis(result, columns, np.take_along_axis(rows, columns, axis=1), axis=1)
    return result


def histogram(probability: AnyFloats, top: int) -> Floats:
    """Keep the `top` largest entries of each row, rescale them to sum 1, and average the rows."""
    largest = keep_largest(probability, top)
    return np.asarray((largest / largest.sum(axis=1, keepdims=True)).mean(axis=0))


def histogram_kl(p: AnyFloats, q: AnyFloats, count: int) -> float:
    """Return KL(p, q) in nats of two histograms; each is a mean over `count` examples.

    One example with uniform class probabilities is added to both, so that the divergence is
    finite also for classes that no example is predicted as.
    """
    p, q = ((count * h + 1 / len(h)) / (count + 1) for h in (p, q))
    return float(np.sum(p * np.log(p / q)))


def mean_pairwise_kl(histograms: Sequence[AnyFloats] | AnyFloats, count: int) -> float:
    """Return the mean KL over all ordered pairs of histograms; NaN if it is undefined for all."""
    found = [histogram_kl(p, q, count) for p, q in permutations(histograms, 2)]
    known = [kl for kl in found if not np.isnan(kl)]
    return float(np.mean(known)) if known else float("nan")


def argmax_accuracy(probability: AnyFloats, label: Ints) -> float:
    """Return the fraction of rows with the largest entry at the true class; NaN if undefined."""
    is_finite = np.isfinite(probability).all()
    return float(np.mean(probability.argmax(axis=1) == label)) if is_finite else float("nan")


def squared_bandwidth(retrained: Floats, base: Floats) -> float:
    """Return half the median squared distance between any two outputs of Retrain or the base model.

    Distances of 0 are left out. The result does not depend on the unlearned model, so that methods
    are comparable. NaN if all outputs are equal, or with fewer than LEAST_EXAMPLES examples.
    """
    if len(base) < LEAST_EXAMPLES:
        return float("nan")
    distances = pdist(np.concatenate([retrained, base]), "sqeuclidean")
    distances = distances[distances != 0]
    return float(np.median(distances)) / 2 if len(distances) else float("nan")


def relative_mmd(own: Floats, retrained: Floats, base: Floats, squared_bandwidth: float) -> float:
    """Return MMD² between a model and the base model minus MMD² between the model and Retrain."""
    to_base, to_retrain = (
        _cross_terms(own, other, squared_bandwidth) for other in (base, retrained)
    )
    n = len(own)
    differences = to_base - to_retrain
    return float((differences.sum() - np.trace(differences)) / (n * (n - 1)))


def _cross_terms(own: Floats, other: Floats, squared_bandwidth: float) -> Floats:
    """Return the terms of MMD² that depend on the model `other`, for each pair of examples.

    They are k(other, other) - 2 k(own, other). MMD² has k(own, own) too, which cancels in the
    difference of two MMD² with the same `own`.
    """
    within, across = (
        np.exp(-cdist(rows, other, "sqeuclidean") / (2 * squared_bandwidth))
        for rows in (other, own)
    )
    return within - 2 * across


def choose_examples(count: int) -> Ints:
    """Return the indices of the compared examples: all, or MOST_EXAMPLES evenly spaced ones."""
    return np.linspace(0, count - 1, min(count, MOST_EXAMPLES)).round().astype(np.int64)

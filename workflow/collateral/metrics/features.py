"""Features of models: linear probes and debiased linear centred kernel alignment (CKA)."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from collateral.metrics.arrays import Floats, Ints

MAX_ITERATIONS = 1000  # maximum number of iterations of L-BFGS, which warns if it did not converge
LEAST_EXAMPLES = 4  # smallest number of examples for an unbiased HSIC
ROUNDING = 1e-6  # deviations below this fraction of the largest feature are rounding errors


def fit_head(features: Floats, label: Ints, c: float) -> Pipeline:
    """Fit a multinomial logistic regression with an L2 penalty on standardised features."""
    head = make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=MAX_ITERATIONS))
    return head.fit(features, label)


def head_accuracy(head: Pipeline, features: Floats, label: Ints) -> float:
    """Return the accuracy on examples of classes that the head was fitted on; NaN without any.

    For other classes, the accuracy would be 0 by construction.
    """
    is_known = np.isin(label, head.classes_)
    if not is_known.any():
        return float("nan")
    return float((head.predict(features[is_known]) == label[is_known]).mean())


def draw_by_class(label: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Draw at most `count` examples, an equal fraction of each class; return sorted indices."""
    order = rng.permutation(len(label))
    by_class = order[np.argsort(label[order], kind="stable")]
    places = np.linspace(0, len(label) - 1, min(count, len(label))).round().astype(np.int64)
    return np.sort(by_class[places])


def debiased_cka(x: Floats, y: Floats) -> float:
    """Return the debiased linear CKA of two feature matrices with the same examples as rows.

    It may be below zero. NaN with fewer than LEAST_EXAMPLES examples, or for constant features.
    """
    if len(x) < LEAST_EXAMPLES:
        return float("nan")
    k, m = (_gram_matrix(features) for features in (x, y))
    own, other = unbiased_hsic(k, k), unbiased_hsic(m, m)
    if not (own > 0 and other > 0):
        return float("nan")
    return float(unbiased_hsic(k, m) / np.sqrt(own * other))


def cka_by_part(x: Floats, y: Floats, part: Ints, num_parts: int) -> Floats:
    """Return, for each part of the examples, the debiased CKA of two feature matrices."""
    return np.array([debiased_cka(x[part == p], y[part == p]) for p in range(num_parts)])


def _gram_matrix(features: Floats) -> Floats:
    """Return all inner products of centred rows, with 0 on the diagonal."""
    centred = features.astype(np.float64) - features.mean(axis=0, dtype=np.float64)
    centred[np.abs(centred) <= ROUNDING * np.abs(features).max()] = 0
    gram: Floats = centred @ centred.T
    np.fill_diagonal(gram, 0)
    return gram


def unbiased_hsic(k: Floats, m: Floats) -> float:
    """Return Song's unbiased HSIC of two Gram matrices with 0 on the diagonal."""
    n = len(k)
    crossed = float((k.sum(axis=0) * m.sum(axis=0)).sum())
    product = float(k.sum() * m.sum()) / ((n - 1) * (n - 2))
    return (float((k * m).sum()) + product - 2 / (n - 2) * crossed) / (n * (n - 3))

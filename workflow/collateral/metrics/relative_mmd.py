"""Relative similarity of three models' outputs: maximum mean discrepancy (MMD) in its paired form.

The three models answer for the same images, so the samples are not independent. The paired form
leaves out the terms of an image with itself; a copy of a model then has distance 0 from it.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

LEAST_EXAMPLES = 24  # with fewer examples, the statistic has little power
MOST_EXAMPLES = 1000  # examples that are compared; the cost grows with their square

Floats = NDArray[np.float64]


def squared_bandwidth(retrained: Floats, base: Floats) -> float:
    """Return half the median non-zero squared distance of all outputs of Retrain and the base.

    It does not depend on the unlearned model, so that methods are comparable. NaN if all are equal,
    and with fewer than LEAST_EXAMPLES examples.
    """
    if len(base) < LEAST_EXAMPLES:
        return float("nan")
    distances = pdist(np.concatenate([retrained, base]), "sqeuclidean")
    distances = distances[distances != 0]
    return float(np.median(distances)) / 2 if len(distances) else float("nan")


def relative_mmd(own: Floats, retrained: Floats, base: Floats, squared_bandwidth: float) -> float:
    """Return MMD²(own, base) - MMD²(own, Retrain); above zero, `own` is nearer to Retrain."""
    to_base, to_retrain = (
        _cross_terms(own, other, squared_bandwidth) for other in (base, retrained)
    )
    n = len(own)
    differences = to_base - to_retrain
    return float((differences.sum() - np.trace(differences)) / (n * (n - 1)))


def _cross_terms(own: Floats, other: Floats, squared_bandwidth: float) -> Floats:
    """Return k(other, other) - 2 k(own, other) of all pairs of examples, (n, n).

    MMD² has k(own, own) too, which is the same for both distances and cancels.
    """
    within, across = (
        np.exp(-cdist(rows, other, "sqeuclidean") / (2 * squared_bandwidth))
        for rows in (other, own)
    )
    terms: Floats = within - 2 * across
    return terms


def choose_examples(count: int) -> NDArray[np.int64]:
    """Return the places of the compared examples: all, or MOST_EXAMPLES at equal distances."""
    return np.linspace(0, count - 1, min(count, MOST_EXAMPLES)).round().astype(np.int64)

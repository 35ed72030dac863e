"""Divergences of two models' class probabilities, example by example.

They are computed from float16 logits in float32, in chunks that stay in the processor's cache.
"""

import numpy as np
from numpy.typing import NDArray

CHUNK = 30_000  # number of probabilities that are processed at a time
SMALLEST = np.float32(1e-37)  # lower bound of probabilities before taking logarithms

Floats = NDArray[np.float32]
Halves = NDArray[np.float16]


def divergences(reference: Halves, other: Halves) -> tuple[Floats, Floats]:
    """Return Jensen-Shannon divergence and KL(reference, other) of each pair of rows, in nats."""
    js, kl = (np.empty(len(reference), np.float32) for _ in range(2))
    count = max(1, CHUNK // reference.shape[1])
    for start in range(0, len(reference), count):
        part = slice(start, start + count)
        js[part], kl[part] = _divergences(reference[part], other[part])
    return js, kl


def _divergences(reference: Halves, other: Halves) -> tuple[Floats, Floats]:
    (p, log_p), (q, log_q) = _softmax(reference), _softmax(other)
    log_m = np.log(np.maximum((p + q) / 2, SMALLEST))
    own = np.vecdot(p, log_p)
    js = (own + np.vecdot(q, log_q) - np.vecdot(p, log_m) - np.vecdot(q, log_m)) / 2
    # Rounding may make the divergence of equal distributions negative.
    return np.maximum(js, 0), np.maximum(own - np.vecdot(p, log_q), 0)


def _softmax(logits: Halves) -> tuple[Floats, Floats]:
    """Return probabilities and their logarithms; NaN for rows with a logit that is not finite."""
    z = logits.astype(np.float32)
    with np.errstate(invalid="ignore"):
        z -= z.max(axis=1, keepdims=True)
    p = np.exp(z)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    z -= np.log(total)
    return p, z

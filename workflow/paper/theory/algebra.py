"""Linear algebra over a leading axis of runs, and interpolating logistic regression (P2 to P4).

Vectors are the last axis, matrices the last two. Interpolating: d >= n, rank X = n, soft targets
y = sigma(z); theta_full solves X theta = z, theta_retrain solves X_R theta = z_R.
Shapes: X (..., n, d), z (..., n), queries x_q (..., q, d).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[Any]  # float64; numpy's own types do not follow it through `solve` and powers

sigma = expit


def solve(A: Array, b: Array) -> Array:
    """Return A^-1 b for each run."""
    return np.linalg.solve(A, b[..., None])[..., 0]


def square_norm(x: Array) -> Array:
    """Return |x|^2 along the last axis."""
    return np.vecdot(x, x)


def join(a: Array, b: Array) -> Array:
    """Concatenate vectors, (..., m) and (..., n), whose leading axes broadcast."""
    leading = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    parts = [np.broadcast_to(part, (*leading, part.shape[-1])) for part in (a, b)]
    return np.concatenate(parts, axis=-1)


def at_step(values: Array, like: Array) -> Array:
    """Give one value per step, (T,), as many axes as a trajectory, (T, ..., d)."""
    return np.expand_dims(values, tuple(range(1, like.ndim)))


def min_norm(X: Array, z: Array) -> Array:
    """Return pinv(X) z = X'(XX')^-1 z, the shortest theta with X theta = z."""
    return np.vecmat(solve(X @ X.mT, z), X)


def coordinates(X_A: Array, x_q: Array) -> Array:
    """Return alpha_{q,A} = (X_A X_A')^-1 X_A x_q for every query."""
    return np.linalg.solve(X_A @ X_A.mT, X_A @ x_q.mT).mT  # (..., q, |A|)


def project(X_A: Array, x_q: Array) -> Array:
    """Return X_A' alpha_{q,A}, the orthogonal projection of x_q onto span(X_A')."""
    return coordinates(X_A, x_q) @ X_A

"""The setting of P2 to P4: logistic regression that interpolates its logits.

d >= n, rank X = n, soft targets y = sigma(z); theta_full solves X theta = z, theta_retrain solves
X_R theta = z_R. Shapes: X (..., n, d), z (..., n), queries x_q (..., q, d).
"""

import numpy as np
from scipy.special import expit

from paper.theory.arrays import Array, solve

sigma = expit


def min_norm(X: Array, z: Array) -> Array:
    """Return pinv(X) z = X'(XX')^-1 z, the shortest theta with X theta = z."""
    return np.vecmat(solve(X @ X.mT, z), X)


def coordinates(X_A: Array, x_q: Array) -> Array:
    """Return alpha_{q,A} = (X_A X_A')^-1 X_A x_q for every query."""
    return np.linalg.solve(X_A @ X_A.mT, X_A @ x_q.mT).mT  # (..., q, |A|)


def project(X_A: Array, x_q: Array) -> Array:
    """Return X_A' alpha_{q,A}, the orthogonal projection of x_q onto span(X_A')."""
    return coordinates(X_A, x_q) @ X_A

"""Linear algebra, reference models and random data for regression that fits all points exactly.

The first axes of all arrays are runs; vectors are along the last axis, matrices along the last two.
In Propositions 2 to 4, d >= n and X has rank n, so that theta_full solves X theta = z and
theta_retrain solves X_R theta = z_R. Soft targets are y = sigma(z).
Shapes: X (..., n, d), z (..., n), queries x_q (..., q, d).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[Any]  # always float64, but type checkers do not know it after `solve` or a power

sigma = expit


def solve(A: Array, b: Array) -> Array:
    """Return A^-1 b for each run."""
    return np.linalg.solve(A, b[..., None])[..., 0]


def square_norm(x: Array) -> Array:
    """Return |x|^2 along the last axis."""
    return np.vecdot(x, x)


def join(a: Array, b: Array) -> Array:
    """Concatenate vectors along the last axis, (..., m) and (..., n); other axes are broadcast."""
    leading = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    parts = [np.broadcast_to(part, (*leading, part.shape[-1])) for part in (a, b)]
    return np.concatenate(parts, axis=-1)


def at_step(values: Array, like: Array) -> Array:
    """Add axes to an array with one value per step, so that it broadcasts with `like`."""
    return np.expand_dims(values, tuple(range(1, like.ndim)))


def min_norm(X: Array, z: Array) -> Array:
    """Return pinv(X) z = X'(XX')^-1 z, the shortest theta with X theta = z."""
    return np.vecmat(solve(X @ X.mT, z), X)


def coordinates(X_A: Array, x_q: Array) -> Array:
    """Return alpha_{q,A} = (X_A X_A')^-1 X_A x_q: each query's coefficients on the rows of X_A."""
    return np.linalg.solve(X_A @ X_A.mT, X_A @ x_q.mT).mT  # (..., q, |A|)


def project(X_A: Array, x_q: Array) -> Array:
    """Return X_A' alpha_{q,A}, the orthogonal projection of x_q onto span(X_A')."""
    return coordinates(X_A, x_q) @ X_A


@dataclass(frozen=True)
class Points:
    """Features and logits of forgotten (F) and retained (R) points, and the reference models."""

    X_F: Array
    X_R: Array
    z_F: Array
    z_R: Array

    @property
    def X(self) -> Array:
        """Feature rows of the forgotten points F, followed by the retained points R."""
        return np.concatenate([self.X_F, self.X_R], axis=-2)

    @property
    def z(self) -> Array:
        """Logits of the forgotten points F, followed by the retained points R."""
        return np.concatenate([self.z_F, self.z_R], axis=-1)

    @property
    def z_limit(self) -> Array:
        """Logits in the limit of Proposition 3: 0 on forgotten points, unchanged on retained."""
        return np.concatenate([np.zeros_like(self.z_F), self.z_R], axis=-1)

    @property
    def theta_full(self) -> Array:
        """The shortest theta that fits the logits of all points exactly."""
        return min_norm(self.X, self.z)

    @property
    def theta_retrain(self) -> Array:
        """The shortest theta that fits the logits of the retained points exactly."""
        return min_norm(self.X_R, self.z_R)


def draw_points(rng: np.random.Generator, runs: int, n: int, d: int, m: int) -> Points:
    """Draw n points with standard normal features and logits; the first m are forgotten."""
    X = rng.standard_normal((runs, n, d))
    z = rng.standard_normal((runs, n))
    return Points(X[:, :m], X[:, m:], z[:, :m], z[:, m:])


def draw_neighbours(rng: np.random.Generator, runs: int, n: int, d: int) -> tuple[Array, Array]:
    """Draw one forgotten point, and n - 1 retained points at many different angles to it."""
    x_f = rng.standard_normal((runs, 1, d))
    share = rng.uniform(0, 0.95, (runs, n - 1, 1))
    X_R = share * x_f + np.sqrt(1 - share**2) * rng.standard_normal((runs, n - 1, d))
    return x_f, X_R


def draw_interpolant(rng: np.random.Generator, theta: Array, X: Array) -> Array:
    """Return theta plus a random direction that does not change the logits X theta."""
    direction = rng.standard_normal(theta.shape)
    return theta + direction - project(X, direction[..., None, :])[..., 0, :]

"""Random data for the experiments and the checks: Gaussian rows, batched over runs."""

from dataclasses import dataclass

import numpy as np

from paper.theory.algebra import Array, min_norm, project


def responses(rng: np.random.Generator, X: Array, sigma2: float) -> Array:
    """Draw y = X theta_true + xi, theta_true standard normal and xi ~ N(0, sigma2)."""
    theta_true = rng.standard_normal((*X.shape[:-2], X.shape[-1]))
    return np.matvec(X, theta_true) + np.sqrt(sigma2) * rng.standard_normal(X.shape[:-1])


@dataclass(frozen=True)
class Interpolating:
    """Features and logits of the forget and the retained points, with the reference models."""

    X_F: Array
    X_R: Array
    z_F: Array
    z_R: Array

    @property
    def X(self) -> Array:
        """Stack the rows of F on those of R."""
        return np.concatenate([self.X_F, self.X_R], axis=-2)

    @property
    def z(self) -> Array:
        """Stack the logits of F on those of R."""
        return np.concatenate([self.z_F, self.z_R], axis=-1)

    @property
    def z_limit(self) -> Array:
        """Stack zeros for F on the logits of R."""
        return np.concatenate([np.zeros_like(self.z_F), self.z_R], axis=-1)

    @property
    def theta_full(self) -> Array:
        """Return the min-norm interpolant of all logits."""
        return min_norm(self.X, self.z)

    @property
    def theta_retrain(self) -> Array:
        """Return the min-norm interpolant of the retained logits."""
        return min_norm(self.X_R, self.z_R)


def interpolating(rng: np.random.Generator, runs: int, n: int, d: int, m: int) -> Interpolating:
    """Draw n standard normal rows and logits, the first m of them to be forgotten."""
    X = rng.standard_normal((runs, n, d))
    z = rng.standard_normal((runs, n))
    return Interpolating(X[:, :m], X[:, m:], z[:, :m], z[:, m:])


def neighbours(rng: np.random.Generator, runs: int, n: int, d: int) -> tuple[Array, Array]:
    """Draw X_F with one point and X_R with neighbours at every angle to it, |cos| up to about 1."""
    x_f = rng.standard_normal((runs, 1, d))
    share = rng.uniform(0, 0.95, (runs, n - 1, 1))
    X_R = share * x_f + np.sqrt(1 - share**2) * rng.standard_normal((runs, n - 1, d))
    return x_f, X_R


def another_interpolant(rng: np.random.Generator, theta: Array, X: Array) -> Array:
    """Return theta plus a random direction that leaves its logits on X unchanged."""
    direction = rng.standard_normal(theta.shape)
    return theta + direction - project(X, direction[..., None, :])[..., 0, :]

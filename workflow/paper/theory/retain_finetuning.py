"""Proposition 3.3 (P3): random labels with full retain fine-tuning, R = D_r.

theta^(lam) = argmin sum_R l(theta; x, sigma(z)) + sum_F l(theta; x, 1/2) + lam/2 |theta|^2 is where
the stochastic trajectory settles. As lam -> 0+, <theta^(lam), x_q> -> <theta_retrain, x_q> on every
retained x_q; on x_q = X_R'v_R + X_F'v_F there remains

    <theta^(lam), x_q> - <theta_retrain, x_q> -> -<theta_retrain, X_F'v_F>.

The trajectory is `random_labels.descend` on X_A = [X_F; X_R] with the labels of `draw_targets`.
"""

import numpy as np

from paper.theory.algebra import Array, join, sigma, solve
from paper.theory.random_labels import draw_labels


def minimise(X_A: Array, y_A: Array, lam: float) -> Array:
    """Return argmin sum_A l(theta; x, y) + lam/2 |theta|^2 by Newton's method.

    The minimiser lies in span(X_A'). With theta = X_A'u the gradient vanishes where
    lam u + sigma(Gu) - y = 0, which stays well conditioned as lam -> 0; the primal does not.
    """
    G = X_A @ X_A.mT
    u = np.zeros_like(y_A)
    for _ in range(100):
        p = sigma(np.matvec(G, u))
        jacobian = lam * np.eye(G.shape[-1]) + (p * (1 - p))[..., None] * G
        step = solve(jacobian, lam * u + p - y_A)
        u = u - step
        # Convergence is quadratic: after a step of 1e-9 only rounding is left.
        if np.all(np.abs(step).max(-1) <= 1e-9 * np.abs(u).max(-1)):
            return np.vecmat(u, X_A)
    raise ValueError(f"Newton's method did not converge in 100 steps at lam={lam:g}")


def rate(X_A: Array, z_A: Array) -> Array:
    """Return d/dlam (X_A theta^(lam)) at lam = 0, where X_A theta^(0) = z_A.

    From lam G^-1 w + sigma(w) = sigma(z_A) for the logits w; not in the paper.
    """
    p = sigma(z_A)
    return -solve(X_A @ X_A.mT, z_A) / (p * (1 - p))


def residual(theta_retrain: Array, X_F: Array, v_F: Array) -> Array:
    """Return -<theta_retrain, X_F'v_F> for every query's v_F, (..., q, |F|)."""
    return -np.matvec(v_F, np.matvec(X_F, theta_retrain))


def draw_targets(rng: np.random.Generator, T: int, m: int, y_R: Array) -> Array:
    """Draw T steps of labels for [X_F; X_R]: random on F, the true soft targets on R."""
    return join(draw_labels(rng, (T, *y_R.shape[:-1], m)), y_R)


def step_sizes(T: int, a: float, b: float) -> Array:
    """Return eta_t = a / (t + b), which satisfies assumption A.1."""
    return a / (np.arange(T) + b)

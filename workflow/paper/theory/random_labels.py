"""Proposition 3.2 (P2): random labels on the forget set in interpolating logistic regression.

theta_{t+1} = (1 - eta_t lam) theta_t - eta_t X_F'(sigma(X_F theta_t) - ytilde_t), ytilde_t iid
Bernoulli(1/2), from theta_0 = theta_full. With z_t^(q) = <theta_t, x_q>, z_t^(F) = X_F theta_t,
Gamma_{0:T} = prod_t (1 - eta_t lam) and alpha_q = (X_F X_F')^-1 X_F x_q, every retained x_q has

    <theta_T, x_q> - <theta_retrain, x_q>
        = (Gamma_{0:T} - 1) z_0^(q) + alpha_q'(z_T^(F) - Gamma_{0:T} z_0^(F)),

exactly and for the labels as drawn. The same holds with F replaced by A = F u R (appendix A.3).
Shapes: trajectories (T + 1, ..., d), eta (T,), labels (T, ..., |A|), queries x_q (..., q, d).
"""

import numpy as np

from paper.theory.algebra import Array, at_step, sigma


def draw_labels(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Draw fresh Bernoulli(1/2) labels."""
    return rng.integers(0, 2, shape).astype(np.float64)


def descend(theta_0: Array, X_A: Array, labels: Array, eta: Array, lam: float) -> Array:
    """Return theta_0, ..., theta_T of logistic descent on X_A, whose labels change at each step."""
    theta = [theta_0]
    for eta_t, y_t in zip(eta, labels, strict=True):
        gradient = np.vecmat(sigma(np.matvec(X_A, theta[-1])) - y_t, X_A)
        theta.append((1 - eta_t * lam) * theta[-1] - eta_t * gradient)
    return np.stack(theta)


def decay(eta: Array, lam: float) -> Array:
    """Return Gamma_{0:T} for T = 0, ..., len(eta)."""
    return np.concatenate([[1.0], np.cumprod(1 - eta * lam)])


def shrinkage(z_0_q: Array, Gamma: Array) -> Array:
    """Return (Gamma_{0:T} - 1) z_0^(q) at every T."""
    return at_step(Gamma - 1, z_0_q[None]) * z_0_q


def perturbation(alpha_q: Array, z_A: Array, Gamma: Array) -> Array:
    """Return alpha_q'(z_T^(A) - Gamma_{0:T} z_0^(A)) at every T, from the trajectory z_A."""
    return np.matvec(alpha_q, z_A - at_step(Gamma, z_A) * z_A[0])

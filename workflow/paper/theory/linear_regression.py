"""Proposition 1 (3.1 in the paper): gradient ascent on one deleted point in linear regression.

y = X theta_true + xi, xi ~ N(0, sigma2), x_i ~ N(0, Sigma), n > d; theta_full and theta_retrain are
the least-squares solutions with and without (x_f, y_f). After T ascent steps from theta_full, the
loss of a retained point x_q exceeds that of retraining, in expectation over xi given X, by

    E (<x_q, theta_T> - y_q)^2 - E (<x_q, theta_retrain> - y_q)^2
        = <x_q, x_f>^2 c(T, eta, x_f) sigma2 + O_p(1/n).

Residuals are prediction minus target; the squared loss has no factor 1/2.
Shapes: X (..., n, d), y (..., n), x_f (..., d), queries x_q (..., q, d).
"""

import numpy as np

from paper.theory.interpolation import Array, solve, square_norm


def draw_responses(rng: np.random.Generator, X: Array, sigma2: float) -> Array:
    """Draw y = X theta_true + xi, with standard normal theta_true and xi ~ N(0, sigma2)."""
    theta_true = rng.standard_normal((*X.shape[:-2], X.shape[-1]))
    return np.matvec(X, theta_true) + np.sqrt(sigma2) * rng.standard_normal(X.shape[:-1])


def least_squares(X: Array, y: Array) -> Array:
    """Return (X'X)^-1 X'y."""
    return solve(X.mT @ X, np.vecmat(y, X))


def ascend(theta_full: Array, x_f: Array, y_f: Array, eta: float, T: int) -> Array:
    """Return theta_0 = theta_full, ..., theta_T of gradient ascent, on a new first axis."""
    theta = [theta_full]
    for _ in range(T):
        r_f = np.vecdot(x_f, theta[-1]) - y_f
        theta.append(theta[-1] + 2 * eta * x_f * r_f[..., None])
    return np.stack(theta)


def amplification(x_f: Array, eta: float, T: int) -> Array:
    """Return (1 + 2 eta |x_f|^2)^T, the factor by which the residual of x_f grows."""
    return (1 + 2 * eta * square_norm(x_f)) ** T


def gain(x_f: Array, eta: float, T: int) -> Array:
    """Return ((1 + 2 eta |x_f|^2)^T - 1) / |x_f|^2, accurate also if the power is close to 1."""
    return np.expm1(T * np.log1p(2 * eta * square_norm(x_f))) / square_norm(x_f)


def alpha(x_q: Array, x_f: Array, eta: float, T: int) -> Array:
    """Return alpha_T: T steps add alpha_T times the residual of x_f to the residual of x_q."""
    return np.matvec(x_q, x_f) * gain(x_f, eta, T)[..., None]  # (..., q)


def c(x_f: Array, eta: float, T: int) -> Array:
    """Return c(T, eta, x_f), the factor in the leading term of Proposition 1."""
    return gain(x_f, eta, T) ** 2


def leverages(X: Array, x_f: Array, x_q: Array) -> tuple[Array, Array]:
    """Return h_qf and h_ff, entries of the hat matrix H = X (X'X)^-1 X'."""
    column = solve(X.mT @ X, x_f)
    return np.matvec(x_q, column), np.vecdot(x_f, column)


def case_deletion(e_q: Array, e_f: Array, h_qf: Array, h_ff: Array) -> Array:
    """Return the residuals of theta_retrain at x_q, computed from those of theta_full."""
    return e_q + h_qf * (e_f / (1 - h_ff))[..., None]


def ascent_term(alpha_T: Array, h_qf: Array, h_ff: Array, sigma2: float) -> Array:
    """Return A_n, the expected loss at x_q of theta_T minus that of theta_full."""
    return sigma2 * (alpha_T**2 * (1 - h_ff[..., None]) - 2 * alpha_T * h_qf)


def retrain_term(h_qf: Array, h_ff: Array, sigma2: float) -> Array:
    """Return B_n, the expected loss at x_q of theta_full minus that of theta_retrain."""
    return sigma2 * h_qf**2 / (1 - h_ff[..., None])


def excess_loss(alpha_T: Array, h_qf: Array, h_ff: Array, sigma2: float) -> Array:
    """Return A_n + B_n, the expected loss at x_q of theta_T minus that of theta_retrain.

    It is a square, so that it is never negative; the paper does not state this.
    """
    kept = 1 - h_ff[..., None]
    return sigma2 * kept * (alpha_T - h_qf / kept) ** 2


def leading_term(x_q: Array, x_f: Array, eta: float, T: int, sigma2: float) -> Array:
    """Return <x_q, x_f>^2 c(T, eta, x_f) sigma2, the leading term of Proposition 1."""
    return np.matvec(x_q, x_f) ** 2 * c(x_f, eta, T)[..., None] * sigma2

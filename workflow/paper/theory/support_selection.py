"""Proposition A.2 and corollary A.3 (P4): which support points should label the deleted ones.

A helper is fitted to the logits of the support S within R, its logits on X_F and the true ones on R
are interpolated: theta_unlearn = pinv(X)[X_F theta_S; z_R]. For any query,

    Delta = |<theta_unlearn - theta_retrain, x_q>| = |alpha_{q,F}' R_S theta_retrain|
          <= |alpha_{q,F}| |R_S| |theta_retrain|,        R_S = X_F (I - P_S).

The paper has one deleted point x_f and one support point x_s, where R_S is r_s = x_f - P_s x_f and
|r_s|^2 = |x_f|^2 (1 - cos^2(x_f, x_s)). Nothing in its proof needs either to be one: here X_F has m
rows, X_S has any number, |R_S| is the spectral norm. theta_full and theta_retrain are min-norm.
"""

import numpy as np

from paper.theory.algebra import Array, coordinates, join, min_norm, project, square_norm


def helper(X_S: Array, theta_full: Array) -> Array:
    """Return theta_S, the min-norm fit of theta_full's logits on the support."""
    return min_norm(X_S, np.matvec(X_S, theta_full))


def transferred_logits(X_F: Array, theta_S: Array, z_R: Array) -> Array:
    """Return z_infinity on F u R: the helper's logits on F, the true ones on R."""
    return join(np.matvec(X_F, theta_S), z_R)


def unlearn(X_F: Array, X_R: Array, theta_S: Array, z_R: Array) -> Array:
    """Return theta_unlearn, the min-norm interpolant of the transferred logits."""
    X = np.concatenate([X_F, X_R], axis=-2)
    return min_norm(X, transferred_logits(X_F, theta_S, z_R))


def forget_coordinates(X_F: Array, X_R: Array, x_q: Array) -> Array:
    """Return alpha_{q,F}: the forget coordinates of x_q in the rows of [X_F; X_R]."""
    return coordinates(np.concatenate([X_F, X_R], axis=-2), x_q)[..., : X_F.shape[-2]]


def support_residual(X_F: Array, X_S: Array) -> Array:
    """Return R_S = X_F - X_F P_S, one row r_s per deleted point."""
    return X_F - project(X_S, X_F)


def deviation(alpha_F: Array, R_S: Array, theta_retrain: Array) -> Array:
    """Return Delta for every query."""
    return np.abs(np.matvec(alpha_F, np.matvec(R_S, theta_retrain)))


def bound(alpha_F: Array, R_S: Array, theta_retrain: Array) -> Array:
    """Return |alpha_{q,F}| |R_S| |theta_retrain| for every query."""
    spectral = np.linalg.norm(R_S, ord=2, axis=(-2, -1))
    scale = spectral * np.linalg.norm(theta_retrain, axis=-1)
    return np.linalg.norm(alpha_F, axis=-1) * scale[..., None]


def mean_square_deviation(alpha_F: Array, X_F: Array, X_R: Array, X_S: Array) -> Array:
    """Return E Delta^2 over logits z = X theta_true with theta_true ~ N(0, I); not in the paper.

    There theta_retrain = P_R theta_true, so E Delta^2 = |alpha_{q,F}' X_F (P_R - P_S)|^2: with one
    x_f and one x_s, alpha_{q,F}^2 (|P_R x_f|^2 - |x_f|^2 cos^2(x_f, x_s)), which falls with |cos|.
    """
    return square_norm(alpha_F @ (project(X_R, X_F) - project(X_S, X_F)))


def cosine(x_f: Array, x_s: Array) -> Array:
    """Return cos(x_f, x_s) along the last axis."""
    return np.vecdot(x_f, x_s) / np.linalg.norm(x_f, axis=-1) / np.linalg.norm(x_s, axis=-1)

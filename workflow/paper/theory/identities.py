"""The two sides of every identity of Propositions 1 to 4: one is measured, one is predicted.

docs/results.md states the propositions. An inequality u <= b is written as the identity
max(u, b) = b; the limit lam -> 0+ is computed at lam = TINY.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from paper.theory import models
from paper.theory.interpolation import (
    Array,
    Points,
    coordinates,
    draw_interpolant,
    draw_points,
    min_norm,
    project,
    sigma,
    square_norm,
)

SIGMA2 = 0.1
TINY = 1e-13
QUERIES = 20


class Size(NamedTuple):
    """Sizes of the random data on which the identities of a proposition are checked.

    In Proposition 1, n = long points have d = short dimensions; in the others, n = short and
    d = long.
    """

    runs: int
    short: int
    long: int
    forget: int
    steps: int


class Sides(NamedTuple):
    """Both sides of an identity, and what its error is divided by (default: max |right|)."""

    left: Array
    right: Array
    scale: Array | None = None


def error(sides: Sides) -> float:
    """Return the largest max |left - right| / scale, where max is over the last axis."""
    difference = np.abs(sides.left - sides.right).max(-1)
    scale = np.abs(sides.right).max(-1) if sides.scale is None else sides.scale
    return float(np.max(difference / scale))


def gradient_ascent(rng: np.random.Generator, size: Size) -> dict[str, Sides]:
    """Return both sides of each identity of Proposition 1: on trajectories and expected losses."""
    X = rng.standard_normal((size.runs, size.long, size.short))
    y = models.draw_responses(rng, X, SIGMA2)
    eta, T = 10 ** rng.uniform(-4, -2), size.steps
    x_f, x_q = X[:, 0], X[:, 1:]
    theta = models.ascend(models.least_squares(X, y), x_f, y[:, 0], eta, T)
    r = np.matvec(X, theta) - y  # residuals after each step, (T + 1, runs, n)
    anywhere = rng.standard_normal((size.runs, QUERIES, size.short))
    y_any = rng.standard_normal((size.runs, QUERIES))
    # residuals of random queries after each step, (T + 1, runs, QUERIES)
    r_any = np.matvec(anywhere, theta) - y_any
    e_f, e_q = r[0, :, 0], r[0, :, 1:]
    r_retrain = np.matvec(x_q, models.least_squares(x_q, y[:, 1:])) - y[:, 1:]
    h_qf, h_ff = models.leverages(X, x_f, x_q)
    growth = np.stack([models.amplification(x_f, eta, t) for t in range(T + 1)])
    alpha, alpha_any = (
        np.stack([models.alpha(queries, x_f, eta, t) for t in range(T + 1)])
        for queries in (x_q, anywhere)
    )
    return {
        "P1.1 residual of the deleted point": Sides(
            r[..., :1], (growth * e_f)[..., None], np.abs(r).max(-1)
        ),
        "P1.2 residual of a query": Sides(r[..., 1:], e_q + alpha * e_f[:, None]),
        "P1.2 residual of any query": Sides(r_any, r_any[0] + alpha_any * e_f[:, None]),
        "P1.3 case deletion": Sides(r_retrain, models.case_deletion(e_q, e_f, h_qf, h_ff)),
        **_expectations(X, eta, T),
    }


def _expectations(X: Array, eta: float, T: int) -> dict[str, Sides]:
    # Residuals r are linear in the noise xi: E[r^2] is SIGMA2 times the sum of r^2 over unit xi.
    # Residuals do not depend on theta_true, which is 0 here.
    n = X.shape[-2]
    xi = np.eye(n)[:, None, :]  # all unit vectors as noise, (n, 1, n)
    x_f, x_q = X[:, 0], X[:, 1:]
    theta_full = models.least_squares(X, xi)
    theta_retrain = models.least_squares(x_q, xi[..., 1:])
    theta_T = models.ascend(theta_full, x_f, xi[..., 0], eta, T)[-1]
    e = np.matvec(X, theta_full) - xi  # (noise, runs, n)
    full = SIGMA2 * (e[..., 1:] ** 2).sum(0)
    ascent = SIGMA2 * ((np.matvec(x_q, theta_T) - xi[..., 1:]) ** 2).sum(0)
    retrain = SIGMA2 * ((np.matvec(x_q, theta_retrain) - xi[..., 1:]) ** 2).sum(0)
    H = X @ np.linalg.solve(X.mT @ X, X.mT)
    alpha, h_qf, h_ff = models.alpha(x_q, x_f, eta, T), H[:, 1:, 0], H[:, 0, 0]
    A_n = models.ascent_term(alpha, h_qf, h_ff, SIGMA2)
    B_n = models.retrain_term(h_qf, h_ff, SIGMA2)
    return {
        "P1.4 covariance of the residuals": Sides(
            SIGMA2 * np.einsum("kri,krj->rij", e, e), SIGMA2 * (np.eye(n) - H)
        ),
        # The errors are relative to the largest loss, which determines the rounding error.
        "P1.5 ascent term A_n": Sides(ascent - full, A_n, ascent.max(-1)),
        "P1.5 retraining term B_n": Sides(full - retrain, B_n, full.max(-1)),
        "P1.6 excess loss is a square": Sides(
            ascent - retrain, models.excess_loss(alpha, h_qf, h_ff, SIGMA2), ascent.max(-1)
        ),
    }


def random_labels(rng: np.random.Generator, size: Size) -> dict[str, Sides]:
    """Return both sides of each identity of Proposition 2, at every step of gradient descent.

    The full and the retrained model are random solutions that fit their training logits exactly.
    """
    data = draw_points(rng, size.runs, size.short, size.long, size.forget)
    theta_full = draw_interpolant(rng, data.theta_full, data.X)
    theta_retrain = draw_interpolant(rng, data.theta_retrain, data.X_R)
    anywhere = rng.standard_normal((size.runs, QUERIES, size.long))
    in_span = rng.standard_normal((size.runs, QUERIES, data.X_R.shape[1])) @ data.X_R
    x_q = np.concatenate([in_span, anywhere], axis=1)
    eta, lam = rng.uniform(0.001, 0.02, size.steps), 10 ** rng.uniform(-3, 0)
    labels = models.draw_labels(rng, (size.steps, size.runs, size.forget))
    theta = models.descend(theta_full, data.X_F, labels, eta, lam)
    Gamma, z_F = models.decay(eta, lam), np.matvec(data.X_F, theta)
    # The two terms of Proposition 2 at each step and query, (steps, runs, queries).
    shrunk = models.shrinkage(np.matvec(x_q, theta_full), Gamma)[1:]
    perturbed = models.perturbation(coordinates(data.X_F, x_q), z_F, Gamma)[1:]
    change = np.matvec(x_q, theta[1:] - theta_full)
    discrepancy = np.matvec(in_span, theta[1:] - theta_retrain)
    span = np.s_[..., :QUERIES]
    basis = np.linalg.qr(data.X_F.mT).Q
    return {
        "P2.1 change of any logit": Sides(change, shrunk + perturbed),
        "P2.2 discrepancy in span(X_R')": Sides(discrepancy, (shrunk + perturbed)[span]),
        "P2.2 discrepancy of any query": Sides(
            np.matvec(anywhere, theta[1:] - theta_retrain),
            (shrunk + perturbed)[..., QUERIES:] + np.matvec(anywhere, theta_full - theta_retrain),
        ),
        "P2.3 projection on the forget span": Sides(
            project(data.X_F, anywhere), anywhere @ basis @ basis.mT
        ),
        "P2.4 variance over the labels": _variance(rng, data, in_span, eta),
        "P2.5 one constant a run": _one_constant(data, labels[..., :1], in_span, eta),
        "P2.6 only the forget span moves, lam = 0": _outside_the_span(data, labels, eta),
        "P2.7 perturbation up to the shrinkage": _at_most(
            np.abs(discrepancy - perturbed[span]), np.abs(shrunk[span]), np.abs(discrepancy).max(-1)
        ),
        "A.3 discrepancy of RL+FT at any query": _retain_discrepancy(rng, data, anywhere, eta, lam),
    }


def _at_most(value: Array, limit: Array, scale: Array | None = None) -> Sides:
    return Sides(np.maximum(value, limit), limit, scale)


def _variance(rng: np.random.Generator, data: Points, x_q: Array, eta: Array) -> Sides:
    repeats, lam = 25, 0.01
    runs, m = data.z_F.shape
    labels = models.draw_labels(rng, (len(eta), repeats, runs, m))
    start = np.broadcast_to(data.theta_full, (repeats, *data.theta_full.shape))
    theta_T = models.descend(start, data.X_F, labels, eta, lam)[-1]  # (repeats, runs, d)
    discrepancy = np.matvec(x_q, theta_T - data.theta_retrain)
    z_F = np.matvec(data.X_F, theta_T)
    centred = z_F - z_F.mean(0)
    covariance = np.einsum("kri,krj->rij", centred, centred) / (repeats - 1)
    alpha = coordinates(data.X_F, x_q)
    return Sides(discrepancy.var(0, ddof=1), np.vecdot(alpha @ covariance, alpha))


def _one_constant(data: Points, labels: Array, x_q: Array, eta: Array) -> Sides:
    x_f = data.X_F[:, :1]
    theta = models.descend(data.theta_full, x_f, labels, eta, 0.0)
    moved = np.matvec(x_f, theta[-1] - theta[0])  # (runs, 1)
    constant = (moved / square_norm(x_f)) ** 2
    discrepancy = np.matvec(x_q, theta[-1] - data.theta_retrain)
    return Sides(discrepancy**2, constant * np.matvec(x_q, x_f[:, 0]) ** 2)


def _outside_the_span(data: Points, labels: Array, eta: Array) -> Sides:
    theta = models.descend(data.theta_full, data.X_F, labels, eta, 0.0)
    outside = theta - project(data.X_F, theta[..., None, :])[..., 0, :]
    return Sides(outside[1:], np.broadcast_to(outside[0], outside[1:].shape))


def _retain_discrepancy(
    rng: np.random.Generator, data: Points, x_q: Array, eta: Array, lam: float
) -> Sides:
    targets = models.draw_targets(rng, len(eta), data.z_F.shape[-1], sigma(data.z_R))
    theta = models.descend(data.theta_full, data.X, targets, eta, lam)
    Gamma = models.decay(eta, lam)
    predicted = (
        models.shrinkage(np.matvec(x_q, data.theta_full), Gamma)
        + models.perturbation(coordinates(data.X, x_q), np.matvec(data.X, theta), Gamma)
        + np.matvec(x_q, data.theta_full - data.theta_retrain)
    )
    return Sides(np.matvec(x_q, theta - data.theta_retrain), predicted)


def _largest_logit(x_q: Array, theta: Array) -> Array:
    return np.abs(np.matvec(x_q, theta)).max(-1)


def retain_finetuning(rng: np.random.Generator, size: Size) -> dict[str, Sides]:
    """Return both sides of each identity of Proposition 3, in the limit lam -> 0+."""
    data = draw_points(rng, size.runs, size.short, size.long, size.forget)
    theta_retrain = draw_interpolant(rng, data.theta_retrain, data.X_R)
    theta = models.minimise(data.X, sigma(data.z_limit), TINY)
    v = rng.standard_normal((size.runs, QUERIES, size.short))
    x_q, v_F = v @ data.X, v[..., : size.forget]
    return {
        "P3.1 retained logits kept, forget logits zero": Sides(
            np.matvec(data.X, theta), data.z_limit
        ),
        "P3.2 residual of a query": Sides(
            np.matvec(x_q, theta - theta_retrain),
            models.residual(theta_retrain, data.X_F, v_F),
            _largest_logit(x_q, theta_retrain),
        ),
        "P3.3 min-norm interpolant of (0, z_R)": Sides(theta, min_norm(data.X, data.z_limit)),
    }


def support_selection(rng: np.random.Generator, size: Size) -> dict[str, Sides]:
    """Return both sides of each identity of Proposition 4.

    Each retained point is the support point in turn.
    """
    data = draw_points(rng, size.runs, size.short, size.long, 1)
    X_F, X_R, theta_retrain = data.X_F, data.X_R, data.theta_retrain
    x_s = X_R.swapaxes(0, 1)[:, :, None]  # (s, runs, 1, d)
    x_q = np.concatenate([X_R, rng.standard_normal((size.runs, QUERIES, size.long))], axis=1)
    theta_s = models.helper(x_s, data.theta_full)
    theta = models.unlearn(X_F, X_R, theta_s, data.z_R)
    alpha, r_s = models.forget_coordinates(X_F, X_R, x_q), models.support_residual(X_F, x_s)
    delta = np.abs(np.matvec(x_q, theta - theta_retrain))  # (s, runs, q)
    limit = models.bound(alpha, r_s, theta_retrain)
    cos = models.cosine(X_F, x_s)  # (s, runs, 1)
    targets = sigma(models.transferred_logits(X_F, theta_s, data.z_R))
    by_cosine = np.argsort(np.abs(cos), axis=0)
    return {
        "P4.1 retraining projects on span(X_R')": Sides(
            theta_retrain, project(X_R, data.theta_full[:, None])[:, 0]
        ),
        "P4.2 deviation of any query": Sides(
            delta, models.deviation(alpha, r_s, theta_retrain), _largest_logit(x_q, theta_retrain)
        ),
        "P4.3 residual by the cosine": Sides(
            square_norm(r_s), square_norm(X_F) * (1 - cos**2), square_norm(X_F).max(-1)
        ),
        "P4.3 bound on the deviation": _at_most(delta, limit),
        **_many_support_points(rng, size),
        "P4.4 forget coordinate, 0 on R": Sides(
            alpha, coordinates(X_F - project(X_R, X_F), x_q), np.abs(alpha).max((-2, -1))[:, None]
        ),
        "P4.5 limit of the pseudo-label objective": Sides(
            models.minimise(data.X, targets, TINY), theta
        ),
        "P4.6 mean square deviation of linear logits": _linear_logits(data, x_s[0], x_q),
        "P4.6 the bound falls with |cos|": Sides(
            np.take_along_axis(limit[..., -1:], by_cosine, axis=0)[..., 0].T,
            -np.sort(-limit[..., -1].T),
        ),
    }


def _many_support_points(rng: np.random.Generator, size: Size) -> dict[str, Sides]:
    data = draw_points(rng, size.runs, size.short, size.long, size.forget)
    X_S = data.X_R[:, :3]
    x_q = rng.standard_normal((size.runs, QUERIES, size.long))
    theta_S = models.helper(X_S, data.theta_full)
    theta = models.unlearn(data.X_F, data.X_R, theta_S, data.z_R)
    alpha = models.forget_coordinates(data.X_F, data.X_R, x_q)
    R_S = models.support_residual(data.X_F, X_S)
    delta = np.abs(np.matvec(x_q, theta - data.theta_retrain))
    predicted = models.deviation(alpha, R_S, data.theta_retrain)
    limit = models.bound(alpha, R_S, data.theta_retrain)
    logit = _largest_logit(x_q, data.theta_retrain)  # errors are relative to it; Delta may be 0
    return {
        "P4.2 many deleted, many support points": Sides(delta, predicted, logit),
        "P4.3 many deleted, many support points": _at_most(delta, limit, logit),
    }


def _linear_logits(data: Points, x_s: Array, x_q: Array) -> Sides:
    # Delta is linear in theta_true, so E Delta^2 is the sum of Delta^2 over unit theta_true.
    theta_true = np.eye(x_q.shape[-1])[:, None]  # (unit, 1, d)
    z, z_R = np.matvec(data.X, theta_true), np.matvec(data.X_R, theta_true)
    theta_s = models.helper(x_s, min_norm(data.X, z))
    theta = models.unlearn(data.X_F, data.X_R, theta_s, z_R)
    delta = np.matvec(x_q, theta - min_norm(data.X_R, z_R))  # (unit, runs, q)
    alpha = models.forget_coordinates(data.X_F, data.X_R, x_q)
    return Sides((delta**2).sum(0), models.mean_square_deviation(alpha, data.X_F, data.X_R, x_s))


PROPOSITIONS: dict[str, Callable[[np.random.Generator, Size], dict[str, Sides]]] = {
    "P1": gradient_ascent,
    "P2": random_labels,
    "P3": retain_finetuning,
    "P4": support_selection,
}

"""The experiments behind the figures: what each panel draws, and the numbers its claim stands on.

Every function takes its random numbers and the number of runs, and returns the panel's points as
columns of equal length and its findings by name. Settings are the paper's where it states them.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from paper.theory import draws
from paper.theory import gradient_ascent as ga
from paper.theory import random_labels as rl
from paper.theory import retain_finetuning as ft
from paper.theory import support_selection as support
from paper.theory.algebra import Array, coordinates, sigma, square_norm
from paper.theory.limits import LAMBDAS, limit_errors, slope
from paper.theory.points import (
    Estimate,
    Panel,
    binned,
    columns,
    concatenate,
    estimate,
    exactly,
    parabola,
    rank_of_bins,
    slopes,
)


class Setting(NamedTuple):
    """Training points, dimension, learning rate and unlearning steps."""

    n: int
    d: int
    lr: float
    T: int


ASCENT = Setting(n=5_000, d=10, lr=0.05, T=450)
LABELS = Setting(n=15, d=20, lr=0.01, T=500)
SIGMA2 = 0.1
NOISE_DRAWS = 30
QUERIES = 10_000


def gradient_ascent(rng: np.random.Generator, runs: int) -> Panel:
    """Run P1 as in figure 2 (left), with the gradient of the mean loss: eta = lr / n."""
    n, d, lr, T = ASCENT
    X, eta = rng.standard_normal((runs, n, d)), lr / n
    x_f, x_q = X[:, 0], X[:, 1:]
    leading = ga.leading_term(x_q, x_f, eta, T, SIGMA2)
    # The proposition conditions on X: several draws of the noise on the same X are one run.
    shifts = [_ascent_shift(rng, X, eta, T) for _ in range(NOISE_DRAWS)]
    measured, first = np.mean(shifts, axis=0), shifts[0]
    h_qf, h_ff = ga.leverages(X, x_f, x_q)
    exact = ga.excess_loss(ga.alpha(x_q, x_f, eta, T), h_qf, h_ff, SIGMA2)
    alignment = support.cosine(x_q, x_f[:, None])
    scale = ga.c(x_f, eta, T) * SIGMA2 * square_norm(x_f) * square_norm(x_q).mean(-1)
    points = concatenate(
        binned("measured", alignment, measured, leading, width=0.1),
        binned("one noise draw", alignment, first, leading, width=0.1),
        parabola(scale.mean()),
    )
    findings = {
        "slope of measured on predicted": estimate(slopes(leading, measured)),
        "slope of measured on predicted, one noise draw": estimate(slopes(leading, first)),
        "slope of exact expectation on predicted": estimate(slopes(leading, exact)),
        "rank correlation of bin and |alignment|": rank_of_bins(points),
        **_scalings(x_f, ASCENT),
    }
    return Panel(points, findings)


def _ascent_shift(rng: np.random.Generator, X: Array, eta: float, T: int) -> Array:
    y = draws.responses(rng, X, SIGMA2)
    x_q, y_q = X[:, 1:], y[:, 1:]
    theta_T = ga.ascend(ga.least_squares(X, y), X[:, 0], y[:, 0], eta, T)[-1]
    theta_retrain = ga.least_squares(x_q, y_q)
    return (np.matvec(x_q, theta_T) - y_q) ** 2 - (np.matvec(x_q, theta_retrain) - y_q) ** 2


def _scalings(x_f: Array, setting: Setting) -> dict[str, Estimate]:
    # Which step sizes leave a mean over runs that is more than its largest run?
    n, d, lr, T = setting
    findings = {}
    choices = {"lr": lr, "lr / mean |x|^2": lr / d, "lr / n": lr / n}
    for name, eta in choices.items():
        log_gain = T * np.log1p(2 * eta * square_norm(x_f))
        # log c + log |x_f|^2, without leaving the range of float64
        log_shift = 2 * (log_gain + np.log(-np.expm1(-log_gain))) - np.log(square_norm(x_f))
        share = 1 / np.exp(log_shift - log_shift.max()).sum()
        log10 = log_gain / np.log(10)
        spread = {"median": np.median(log10), "least": log10.min(), "largest": log10.max()}
        for which, value in spread.items():
            findings[f"eta = {name}: {which} log10 growth of the residual of x_f"] = exactly(value)
        findings[f"eta = {name}: largest run's share of the mean"] = exactly(share)
    return findings


def random_labels(rng: np.random.Generator, runs: int) -> Panel:
    """Run P2 as in figure 2 (right): lam = 0, unit queries drawn from span(X_R')."""
    n, d, lr, T = LABELS
    data = draws.interpolating(rng, runs, n, d, 1)
    labels = rl.draw_labels(rng, (T, runs, 1))
    theta = rl.descend(data.theta_full, data.X_F, labels, np.full(T, lr), 0.0)
    x_q = rng.standard_normal((runs, QUERIES, n - 1)) @ data.X_R
    x_q /= np.linalg.norm(x_q, axis=-1, keepdims=True)
    ends = np.matvec(data.X_F, theta[[0, -1]])  # z_0 and z_T on F, (2, runs, 1)
    predicted = rl.perturbation(coordinates(data.X_F, x_q), ends, np.ones(2))[-1] ** 2
    measured = np.matvec(x_q, theta[-1] - data.theta_retrain) ** 2
    scale = (ends[1] - ends[0])[:, 0] ** 2 / square_norm(data.X_F)[:, 0]
    alignment = support.cosine(x_q, data.X_F)
    points = concatenate(
        binned("measured", alignment, measured, predicted, width=0.05),
        parabola(scale.mean()),
    )
    worst = np.abs(measured - predicted).max(-1) / predicted.max(-1)
    findings = {
        "slope of measured on predicted": estimate(slopes(predicted, measured)),
        "largest error relative to the largest discrepancy": exactly(worst.max()),
        "rank correlation of bin and |alignment|": rank_of_bins(points),
    }
    return Panel(points, findings)


def retain_residual(rng: np.random.Generator, runs: int) -> Panel:
    """Solve P3 by Newton at lam = 1e-8: what retain fine-tuning leaves on queries."""
    n, d, m, lam = 15, 20, 3, 1e-8
    data = draws.interpolating(rng, runs, n, d, m)
    theta = ft.minimise(data.X, sigma(data.z_limit), lam)
    v = rng.standard_normal((runs, 10, n))
    v /= np.linalg.norm(v @ data.X, axis=-1, keepdims=True)  # unit queries, as in figure 2
    predicted = ft.residual(data.theta_retrain, data.X_F, v[..., :m])
    measured = np.matvec(v @ data.X, theta - data.theta_retrain)
    retained = np.matvec(data.X_R, theta - data.theta_retrain)
    points = concatenate(
        columns("query in span(X')", predicted, measured, predicted),
        columns("retained point", np.zeros_like(retained), retained, np.zeros_like(retained)),
    )
    findings = {
        "slope of measured on predicted": estimate(slopes(predicted, measured)),
        "largest |measured - predicted| on queries": exactly(np.abs(measured - predicted).max()),
        "root mean square residual on queries": exactly(np.sqrt((measured**2).mean())),
        "largest |residual| on retained points": exactly(np.abs(retained).max()),
    }
    return Panel(points, findings)


def retain_rate(rng: np.random.Generator, runs: int) -> Panel:
    """Solve P3 for falling lam: how fast the limit is reached, against the first-order rate."""
    m = 3
    data = draws.interpolating(rng, runs, 15, 20, m)
    errors = np.abs(limit_errors(data, LAMBDAS))  # (lam, runs, n)
    first_order = np.abs(ft.rate(data.X, data.z_limit)) * LAMBDAS[:, None, None]
    points = concatenate(
        *(
            columns(name, LAMBDAS, errors[part].mean((1, 2)), first_order[part].mean((1, 2)))
            for name, part in {"forget": np.s_[..., :m], "retained": np.s_[..., m:]}.items()
        )
    )
    largest = errors.max((1, 2))
    findings = {
        "log-log slope of the largest logit error in lam": exactly(slope(LAMBDAS, largest)),
        "largest logit error at lam = 1e-10": exactly(largest[-1]),
    }
    return Panel(points, findings)


def support_with_noise_logits(rng: np.random.Generator, runs: int) -> Panel:
    """Let every retained point support x_f in P4, logits drawn without regard to the features."""
    X_F, X_R = draws.neighbours(rng, runs, 15, 20)
    z = rng.standard_normal((runs, 15))
    return _support(rng, draws.Interpolating(X_F, X_R, z[:, :1], z[:, 1:]))


def support_with_linear_logits(rng: np.random.Generator, runs: int) -> Panel:
    """Let every retained point support x_f in P4, logits z = X theta_true."""
    X_F, X_R = draws.neighbours(rng, runs, 15, 20)
    theta_true = rng.standard_normal((runs, 20))
    z_F, z_R = np.matvec(X_F, theta_true), np.matvec(X_R, theta_true)
    return _support(rng, draws.Interpolating(X_F, X_R, z_F, z_R))


def _support(rng: np.random.Generator, data: draws.Interpolating) -> Panel:
    x_s = data.X_R.swapaxes(0, 1)[:, :, None]  # (s, runs, 1, d)
    x_q = rng.standard_normal(data.X_F.shape)
    theta = support.unlearn(data.X_F, data.X_R, support.helper(x_s, data.theta_full), data.z_R)
    delta = np.abs(np.matvec(x_q, theta - data.theta_retrain))[..., 0]  # (s, runs)
    alpha = support.forget_coordinates(data.X_F, data.X_R, x_q)
    limit = support.bound(alpha, support.support_residual(data.X_F, x_s), data.theta_retrain)
    cos = np.abs(support.cosine(data.X_F, x_s))[..., 0]
    # What the bound is where r_s = x_f: in this unit it is sqrt(1 - cos^2) in every run.
    unit = limit[..., 0] / np.sqrt(1 - cos**2)
    ranks = stats.rankdata(cos, axis=0), stats.rankdata(delta, axis=0)
    centred = [r - r.mean(0) for r in ranks]
    rank_correlation = (centred[0] * centred[1]).sum(0) / (centred[0] ** 2).sum(0)
    nearest = np.take_along_axis(delta, cos.argmax(0)[None], axis=0)[0]
    findings = {
        "largest deviation over its bound": exactly((delta / limit[..., 0]).max()),
        "rank correlation of |cos| and deviation, per run": estimate(rank_correlation),
        "deviation with the nearest support over the mean support's": exactly(
            nearest.mean() / delta.mean()
        ),
        "share of runs where the nearest support beats the median": estimate(
            (nearest < np.median(delta, axis=0)).astype(float)
        ),
    }
    return Panel(columns("support point", cos, delta / unit, limit[..., 0] / unit), findings)


PANELS = {
    "gradient_ascent": gradient_ascent,
    "random_labels": random_labels,
    "retain_residual": retain_residual,
    "retain_rate": retain_rate,
    "support_with_noise_logits": support_with_noise_logits,
    "support_with_linear_logits": support_with_linear_logits,
}

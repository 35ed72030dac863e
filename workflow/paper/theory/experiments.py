"""Experiments on the theory: each computes the points and the findings of one panel of a figure.

An experiment takes a random generator and the number of runs. It returns the points of its panel
as a table, and its findings, which are numbers with names. Settings are the paper's if it states
them.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from paper.theory import models
from paper.theory.checks import LAMBDAS, limit_errors, slope
from paper.theory.interpolation import (
    Array,
    Points,
    coordinates,
    draw_neighbours,
    draw_points,
    sigma,
    square_norm,
)


class Estimate(NamedTuple):
    """A mean over runs with its 95 % Student interval, or a number without an interval (NaN)."""

    value: float
    low: float
    high: float


class Panel(NamedTuple):
    """Data of one panel of a figure: the points to draw, and the findings (numbers) by name."""

    points: pd.DataFrame
    findings: dict[str, Estimate]


# Each row: number of training points, dimension, learning rate, number of unlearning steps.
ASCENT = (5_000, 10, 0.05, 450)
LABELS = (15, 20, 0.01, 500)
SIGMA2 = 0.1
NOISE_DRAWS = 30
QUERIES = 10_000


def gradient_ascent(rng: np.random.Generator, runs: int) -> Panel:
    """Run gradient ascent (Proposition 1) as in the paper's figure 2, left.

    The loss is the mean over points, so that the step size eta is lr / n.
    """
    n, d, lr, T = ASCENT
    X, eta = rng.standard_normal((runs, n, d)), lr / n
    x_f, x_q = X[:, 0], X[:, 1:]
    leading = models.leading_term(x_q, x_f, eta, T, SIGMA2)
    # The proposition is conditional on X, so each run averages several draws of noise for one X.
    shifts = [_ascent_shift(rng, X, eta, T) for _ in range(NOISE_DRAWS)]
    measured, first = np.mean(shifts, axis=0), shifts[0]
    h_qf, h_ff = models.leverages(X, x_f, x_q)
    exact = models.excess_loss(models.alpha(x_q, x_f, eta, T), h_qf, h_ff, SIGMA2)
    alignment = models.cosine(x_q, x_f[:, None])
    scale = models.c(x_f, eta, T) * SIGMA2 * square_norm(x_f) * square_norm(x_q).mean(-1)
    points = pd.concat(
        [
            binned("measured", alignment, measured, leading, width=0.1),
            binned("one noise draw", alignment, first, leading, width=0.1),
            parabola(scale.mean()),
        ]
    )
    findings = {
        "slope of measured on predicted": slopes(leading, measured),
        "slope of measured on predicted, one noise draw": slopes(leading, first),
        "slope of exact expectation on predicted": slopes(leading, exact),
        "rank correlation of bin and |alignment|": correlate_bins(points),
        **_scalings(x_f),
    }
    return make_panel(points, findings)


def _ascent_shift(rng: np.random.Generator, X: Array, eta: float, T: int) -> Array:
    y = models.draw_responses(rng, X, SIGMA2)
    x_q, y_q = X[:, 1:], y[:, 1:]
    theta_T = models.ascend(models.least_squares(X, y), X[:, 0], y[:, 0], eta, T)[-1]
    theta_retrain = models.least_squares(x_q, y_q)
    return (np.matvec(x_q, theta_T) - y_q) ** 2 - (np.matvec(x_q, theta_retrain) - y_q) ** 2


def _scalings(x_f: Array) -> dict[str, float]:
    """Return log10 of the factor by which the residual of x_f grows in T steps, by step size.

    Also return how much of the sum of c |x_f|^2 over runs comes from the largest run.
    """
    n, d, lr, T = ASCENT
    findings = {}
    choices = {"lr": lr, "lr / mean |x|^2": lr / d, "lr / n": lr / n}
    for name, eta in choices.items():
        log_gain = T * np.log1p(2 * eta * square_norm(x_f))
        # The logarithm of c |x_f|^2, because the value itself may overflow.
        log_shift = 2 * (log_gain + np.log(-np.expm1(-log_gain))) - np.log(square_norm(x_f))
        share = 1 / np.exp(log_shift - log_shift.max()).sum()
        log10 = log_gain / np.log(10)
        spread = {"median": np.median(log10), "least": log10.min(), "largest": log10.max()}
        for which, value in spread.items():
            findings[f"eta = {name}: {which} log10 growth of the residual of x_f"] = value
        findings[f"eta = {name}: largest run's share of the mean"] = share
    return findings


def random_labels(rng: np.random.Generator, runs: int) -> Panel:
    """Run random labels (Proposition 2) as in the paper's figure 2, right.

    There is no weight decay (lam = 0); queries are random unit vectors in span(X_R').
    """
    n, d, lr, T = LABELS
    data = draw_points(rng, runs, n, d, 1)
    labels = models.draw_labels(rng, (T, runs, 1))
    theta = models.descend(data.theta_full, data.X_F, labels, np.full(T, lr), 0.0)
    x_q = rng.standard_normal((runs, QUERIES, n - 1)) @ data.X_R
    x_q /= np.linalg.norm(x_q, axis=-1, keepdims=True)
    ends = np.matvec(data.X_F, theta[[0, -1]])  # logits of x_f at the start and end, (2, runs, 1)
    predicted = models.perturbation(coordinates(data.X_F, x_q), ends, np.ones(2))[-1] ** 2
    measured = np.matvec(x_q, theta[-1] - data.theta_retrain) ** 2
    scale = (ends[1] - ends[0])[:, 0] ** 2 / square_norm(data.X_F)[:, 0]
    alignment = models.cosine(x_q, data.X_F)
    points = pd.concat(
        [binned("measured", alignment, measured, predicted, width=0.05), parabola(scale.mean())]
    )
    worst = np.abs(measured - predicted).max(-1) / predicted.max(-1)
    findings = {
        "slope of measured on predicted": slopes(predicted, measured),
        "largest error relative to the largest discrepancy": worst.max(),
        "rank correlation of bin and |alignment|": correlate_bins(points),
    }
    return make_panel(points, findings)


def retain_residual(rng: np.random.Generator, runs: int) -> Panel:
    """Measure how far the logits of Proposition 3 are from Retrain's, at lam = 1e-8."""
    n, d, m, lam = 15, 20, 3, 1e-8
    data = draw_points(rng, runs, n, d, m)
    theta = models.minimise(data.X, sigma(data.z_limit), lam)
    v = rng.standard_normal((runs, 10, n))
    v /= np.linalg.norm(v @ data.X, axis=-1, keepdims=True)  # queries of length 1, as in figure 2
    predicted = models.residual(data.theta_retrain, data.X_F, v[..., :m])
    measured = np.matvec(v @ data.X, theta - data.theta_retrain)
    retained = np.matvec(data.X_R, theta - data.theta_retrain)
    zero = np.zeros_like(retained)
    queries = make_points("query in span(X')", predicted, measured, predicted)
    points = pd.concat([queries, make_points("retained point", zero, retained, zero)])
    findings = {
        "slope of measured on predicted": slopes(predicted, measured),
        "largest |measured - predicted| on queries": np.abs(measured - predicted).max(),
        "root mean square residual on queries": np.sqrt((measured**2).mean()),
        "largest |residual| on retained points": np.abs(retained).max(),
    }
    return make_panel(points, findings)


def retain_rate(rng: np.random.Generator, runs: int) -> Panel:
    """Measure how fast the logits of Proposition 3 approach their limit as lam tends to 0."""
    m = 3
    data = draw_points(rng, runs, 15, 20, m)
    errors = np.abs(limit_errors(data, LAMBDAS))  # (lam, runs, n)
    first_order = np.abs(models.rate(data.X, data.z_limit)) * LAMBDAS[:, None, None]
    points = pd.concat(
        make_points(name, LAMBDAS, errors[part].mean((1, 2)), first_order[part].mean((1, 2)))
        for name, part in {"forget": np.s_[..., :m], "retained": np.s_[..., m:]}.items()
    )
    largest = errors.max((1, 2))
    findings = {
        "log-log slope of the largest logit error in lam": slope(LAMBDAS, largest),
        "largest logit error at lam = 1e-10": largest[-1],
    }
    return make_panel(points, findings)


def support_with_noise_logits(rng: np.random.Generator, runs: int) -> Panel:
    """Run Proposition 4 with each retained point as support point; logits are random noise."""
    X_F, X_R = draw_neighbours(rng, runs, 15, 20)
    z = rng.standard_normal((runs, 15))
    return _support(rng, Points(X_F, X_R, z[:, :1], z[:, 1:]))


def support_with_linear_logits(rng: np.random.Generator, runs: int) -> Panel:
    """Run Proposition 4 with each retained point as support point; logits are z = X theta_true."""
    X_F, X_R = draw_neighbours(rng, runs, 15, 20)
    theta_true = rng.standard_normal((runs, 20))
    z_F, z_R = np.matvec(X_F, theta_true), np.matvec(X_R, theta_true)
    return _support(rng, Points(X_F, X_R, z_F, z_R))


def _support(rng: np.random.Generator, data: Points) -> Panel:
    x_s = data.X_R.swapaxes(0, 1)[:, :, None]  # (s, runs, 1, d)
    x_q = rng.standard_normal(data.X_F.shape)
    theta = models.unlearn(data.X_F, data.X_R, models.helper(x_s, data.theta_full), data.z_R)
    delta = np.abs(np.matvec(x_q, theta - data.theta_retrain))[..., 0]  # (s, runs)
    alpha = models.forget_coordinates(data.X_F, data.X_R, x_q)
    limit = models.bound(alpha, models.support_residual(data.X_F, x_s), data.theta_retrain)
    cos = np.abs(models.cosine(data.X_F, x_s))[..., 0]
    # `unit` is the bound of a support point orthogonal to x_f, for which r_s = x_f.
    # Divided by `unit`, the bound is sqrt(1 - cos^2) in every run.
    unit = limit[..., 0] / np.sqrt(1 - cos**2)
    ranks = stats.rankdata(cos, axis=0), stats.rankdata(delta, axis=0)
    centred = [r - r.mean(0) for r in ranks]
    rank_correlation = (centred[0] * centred[1]).sum(0) / (centred[0] ** 2).sum(0)
    nearest = np.take_along_axis(delta, cos.argmax(0)[None], axis=0)[0]
    findings = {
        "largest deviation over its bound": (delta / limit[..., 0]).max(),
        "rank correlation of |cos| and deviation, per run": rank_correlation,
        "deviation with the nearest support over the mean support's": nearest.mean() / delta.mean(),
        "share of runs where the nearest support beats the median": (
            nearest < np.median(delta, axis=0)
        ).astype(float),
    }
    return make_panel(
        make_points("support point", cos, delta / unit, limit[..., 0] / unit), findings
    )


def interval(per_run: Array) -> tuple[Array, Array, Array]:
    """Return the mean over runs (first axis), and both ends of its 95 % Student interval."""
    half = stats.sem(per_run) * stats.t.ppf(0.975, len(per_run) - 1)
    mean = per_run.mean(0)
    return mean, mean - half, mean + half


def make_panel(points: pd.DataFrame, findings: dict[str, Any]) -> Panel:
    """Return the panel with these points and findings.

    A finding that has one value per run is replaced by the mean over runs and its interval.
    """
    return Panel(points, {name: _estimate(found) for name, found in findings.items()})


def _estimate(found: Array | float) -> Estimate:
    if np.ndim(found):
        return Estimate(*map(float, interval(np.asarray(found))))
    return Estimate(float(found), np.nan, np.nan)


def slopes(x: Array, y: Array) -> Array:
    """Return, for each run, the least-squares slope of y on x through the origin."""
    return np.vecdot(x, y) / square_norm(x)


def make_points(series: str, x: Array, y: Array, predicted: Array) -> pd.DataFrame:
    """Return the table of the points of one series; the ends of their intervals are NaN."""
    x, y, predicted = (np.ravel(values) for values in (x, y, predicted))
    columns = {"series": series, "x": x, "y": y, "low": np.nan, "high": np.nan}
    return pd.DataFrame({**columns, "predicted": predicted})


def parabola(scale: float) -> pd.DataFrame:
    """Return the points of the curve that theory predicts: `scale` times squared alignment."""
    x = np.linspace(-1, 1, 201)
    return make_points("theory", x, scale * x**2, scale * x**2)


def binned(
    series: str, alignment: Array, measured: Array, predicted: Array, width: float
) -> pd.DataFrame:
    """Average values within each bin of alignment, and then over runs.

    Bins that are empty in any run are left out.
    """
    runs, bins = len(alignment), round(2 / width)
    edges = np.linspace(-1, 1, bins + 1)
    index = np.digitize(alignment, edges[1:-1]) + bins * np.arange(runs)[:, None]
    count = np.bincount(index.ravel(), minlength=runs * bins).reshape(runs, bins)
    full = (count > 0).all(0)

    def means(values: Array) -> Array:
        sums = np.bincount(index.ravel(), values.ravel(), runs * bins).reshape(runs, bins)
        return sums[:, full] / count[:, full]

    y, low, high = interval(means(measured))
    points = make_points(series, means(alignment).mean(0), y, means(predicted).mean(0))
    return points.assign(low=low, high=high)


def correlate_bins(points: pd.DataFrame) -> float:
    """Return the rank correlation of |alignment| with the measured discrepancy, over bins."""
    measured = points[points["series"] == "measured"]
    return float(stats.spearmanr(measured["x"].abs(), measured["y"]).statistic)


PANELS = {
    "gradient_ascent": gradient_ascent,
    "random_labels": random_labels,
    "retain_residual": retain_residual,
    "retain_rate": retain_rate,
    "support_with_noise_logits": support_with_noise_logits,
    "support_with_linear_logits": support_with_linear_logits,
}

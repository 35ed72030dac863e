"""What P1 to P3 claim in a limit: two rates, by log-log slope, and two means, by Student's t."""

from typing import NamedTuple

import numpy as np
from scipy import stats

from paper.theory import draws
from paper.theory import gradient_ascent as ga
from paper.theory import random_labels as rl
from paper.theory import retain_finetuning as ft
from paper.theory.algebra import Array, join, sigma

SIZES = np.array([200, 2_000, 20_000])
LAMBDAS = 10.0 ** -np.arange(2, 11)


class End(NamedTuple):
    """Query logits at the end of a trajectory, (runs, q), and what they should be or not, (q,)."""

    logits: Array
    limit: Array
    retrained: Array


def slope(x: Array, y: Array) -> float:
    """Return the slope of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def remainders(rng: np.random.Generator, runs: int) -> Array:
    """Return the mean |excess loss - leading term| of P1, for each n in SIZES."""
    d, eta, T, sigma2 = 5, 0.01, 10, 0.1
    ends = rng.standard_normal((runs, 2, d))  # x_f and x_q, the same at every n
    x_f, x_q = ends[:, 0], ends[:, 1:]
    alpha = ga.alpha(x_q, x_f, eta, T)
    errors = []
    for n in SIZES:
        X = np.concatenate([ends, rng.standard_normal((runs, n - 2, d))], axis=1)
        h_qf, h_ff = ga.leverages(X, x_f, x_q)
        exact = ga.excess_loss(alpha, h_qf, h_ff, sigma2)
        errors.append(exact - ga.leading_term(x_q, x_f, eta, T, sigma2))
    return np.mean(np.abs(errors), axis=(1, 2))


def limit_errors(data: draws.Interpolating, lambdas: Array) -> Array:
    """Return X theta^(lam) minus its limit (0, z_R) in P3, for each lam: (lam, runs, n)."""
    theta = np.stack([ft.minimise(data.X, sigma(data.z_limit), lam) for lam in lambdas])
    return np.matvec(data.X, theta) - data.z_limit


def random_labels_end(rng: np.random.Generator, runs: int) -> End:
    """Run P2 on one data set under assumption A.1; the mean logits should tend to 0."""
    data, x_q = draws.interpolating(rng, 1, 4, 6, 2), rng.standard_normal((10, 6))
    T, lam = 5_000, 0.1
    labels = rl.draw_labels(rng, (T, runs, 2))
    start = np.repeat(data.theta_full, runs, axis=0)
    theta = rl.descend(start, data.X_F, labels, ft.step_sizes(T, a=30, b=100), lam)
    return End(np.matvec(x_q, theta[-1]), np.zeros(10), np.matvec(x_q, data.theta_retrain[0]))


def retain_finetuning_end(rng: np.random.Generator, runs: int) -> End:
    """Run RL+FT on one data set under assumption A.1; the mean should tend to theta^(lam)."""
    data, x_q = draws.interpolating(rng, 1, 4, 6, 2), rng.standard_normal((10, 6))
    T, lam = 10_000, 0.1
    y_R = sigma(data.z_R)
    targets = ft.draw_targets(rng, T, 2, np.repeat(y_R, runs, axis=0))
    start = np.repeat(data.theta_full, runs, axis=0)
    theta = rl.descend(start, data.X, targets, ft.step_sizes(T, a=30, b=100), lam)
    limit = ft.minimise(data.X, join(np.full(2, 0.5), y_R), lam)[0]
    return End(
        np.matvec(x_q, theta[-1]), np.matvec(x_q, limit), np.matvec(x_q, data.theta_retrain[0])
    )


def largest_t(logits: Array, mean: Array) -> float:
    """Return the largest |t| over queries of the hypothesis that `mean` is the mean logit."""
    standard_error = logits.std(0, ddof=1) / np.sqrt(len(logits))
    return float(np.max(np.abs((logits.mean(0) - mean) / standard_error)))


def critical_t(logits: Array) -> float:
    """Return what `largest_t` exceeds once in a thousand times at most (Bonferroni)."""
    runs, queries = logits.shape
    return float(stats.t.ppf(1 - 0.001 / (2 * queries), runs - 1))

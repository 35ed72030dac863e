"""Checks of Propositions 1 to 4: do their identities and limits hold numerically?

The two sides of an identity are compared. A rate of convergence is measured as the slope in a
log-log plot. The limit of a mean is tested by Student's t.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from paper.theory import models
from paper.theory.identities import PROPOSITIONS, Size, error
from paper.theory.interpolation import Array, Points, draw_points, join, sigma

# Each row: `short`, `long`, `forget` and `steps` of the class `Size` in identities.py.
# The first row has n = 15 and d = 20, as in the paper's experiment on Proposition 2.
DATA_SIZES = ((15, 20, 4, 100), (6, 9, 2, 20), (20, 40, 5, 50))
DEFAULT_TOLERANCE = 1e-9
IDENTITY = "relative error"  # measure of the checks of identities
# Stricter tolerances for identities whose two sides differ only by rounding error.
TOLERANCES = {
    "P1.4 covariance of the residuals": 1e-12,
    "P1.5 ascent term A_n": 1e-12,
    "P1.5 retraining term B_n": 1e-12,
    "P1.6 excess loss is a square": 1e-12,
    "P4.3 residual by the cosine": 1e-12,
    "P4.3 bound on the deviation": 1e-12,
}
# Numbers of training points for which the convergence rate of Proposition 1 is measured.
NUM_POINTS = np.array([200, 2_000, 20_000])
LAMBDA = 0.1  # weight decay in the checks of the limits of mean logits
# Weight decays for which the convergence rate of Proposition 3 is measured.
LAMBDAS = 10.0 ** -np.arange(2, 11)


class Check(NamedTuple):
    """The result of one check, a row of checks.csv; `measure` says what `error` measures."""

    proposition: str
    identity: str
    measure: str
    error: float
    tolerance: float
    draws: int

    @property
    def holds(self) -> bool:
        """Whether the error is within the tolerance."""
        return self.error <= self.tolerance


# What each proposition says, in words.
CLAIMS = {
    "P1": "gradient ascent on a deleted point in linear regression adds to a query's loss the "
    "square of its alignment with that point, to first order in 1/n",
    "P2": "random labels on deleted points in logistic regression shrink every logit, and move a "
    "query by its projection on the span of the deleted points",
    "P3": "fine-tuning on the retained points keeps their logits, and leaves on every other query "
    "an error that is known beforehand",
    "P4": "with labels for a support point, a query's distance from Retrain is at most what its "
    "bound says, and the bound (not always the distance itself) is the smaller, the more alike "
    "support point and deleted point are",
}


def state(checks: Sequence[Check]) -> list[str]:
    """Return a sentence per proposition: what it says, what was checked, and whether it holds."""
    found = []
    for proposition, claim in CLAIMS.items():
        own = [check for check in checks if check.proposition == proposition]
        identities = [check for check in own if check.measure == IDENTITY]
        others = [check.identity.partition(" ")[2] for check in own if check.measure != IDENTITY]
        failed = [check.identity for check in own if not check.holds]
        error = max((check.error for check in identities), default=0.0)
        count = "1 identity" if len(identities) == 1 else f"{len(identities)} identities"
        text = f"{count} on random data (largest relative error {error:.0e})"
        text += (
            f" and {len(others)} limit{'s' * (len(others) > 1)} ({'; '.join(others)})"
            if others
            else ""
        )
        verdict = f"does not hold: {', '.join(failed)}" if failed else "holds"
        number = proposition.removeprefix("P")
        found.append(f"Proposition {number}, {claim}: {verdict}. Checked: {text}.")
    return found


def identity_checks(rng: np.random.Generator, draws: int) -> list[Check]:
    """Compare both sides of every identity on `draws` data sets of each size."""
    rows = []
    for proposition, sides_of in PROPOSITIONS.items():
        per_size = [sides_of(rng, Size(draws, *size)) for size in DATA_SIZES]
        for name in per_size[0]:
            worst = max(error(sides[name]) for sides in per_size)
            tolerance = TOLERANCES.get(name, DEFAULT_TOLERANCE)
            total = draws * len(DATA_SIZES)
            rows.append(Check(proposition, name, IDENTITY, worst, tolerance, total))
    return rows


def limit_checks(rng: np.random.Generator, draws: int) -> list[Check]:
    """Check two rates of convergence (P1, P3), and the limits of two mean logits (P2, P3)."""
    order = slope(NUM_POINTS, remainders(rng, draws))
    errors = limit_errors(draw_points(rng, draws, 15, 20, 4), LAMBDAS)
    rate = slope(LAMBDAS, np.abs(errors).max((1, 2)))
    ends = {
        ("P2", "P2.6 mean logits tend to 0"): random_labels_end(rng, draws),
        ("P3", "P3 mean logits tend to theta^(lam)"): retain_finetuning_end(rng, draws),
    }
    found = [
        Check("P1", "P1.7 remainder is O(1/n)", "|slope + 1|", abs(order + 1), 0.05, draws),
        Check("P3", "P3 error is linear in lam", "|slope - 1|", abs(rate - 1), 0.05, draws),
    ]
    for names, end in ends.items():
        t, limit = largest_t(end.logits, end.limit), critical_t(end.logits)
        found.append(Check(*names, "largest |t|", t, limit, draws))
    return found


class End(NamedTuple):
    """Logits of the queries: after the last step of each run, in the limit, and of Retrain."""

    logits: Array
    limit: Array
    retrained: Array


def slope(x: Array, y: Array) -> float:
    """Return the slope of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def remainders(rng: np.random.Generator, runs: int) -> Array:
    """Return the mean |excess loss - leading term| of Proposition 1, for each n in NUM_POINTS."""
    d, eta, T, sigma2 = 5, 0.01, 10, 0.1
    ends = rng.standard_normal((runs, 2, d))  # x_f and x_q are the same for every n
    x_f, x_q = ends[:, 0], ends[:, 1:]
    alpha = models.alpha(x_q, x_f, eta, T)
    errors = []
    for n in NUM_POINTS:
        X = np.concatenate([ends, rng.standard_normal((runs, n - 2, d))], axis=1)
        h_qf, h_ff = models.leverages(X, x_f, x_q)
        exact = models.excess_loss(alpha, h_qf, h_ff, sigma2)
        errors.append(exact - models.leading_term(x_q, x_f, eta, T, sigma2))
    return np.mean(np.abs(errors), axis=(1, 2))


def limit_errors(data: Points, lambdas: Array) -> Array:
    """Return X theta^(lam) minus its limit (0, z_R) in Proposition 3, by lam: (lam, runs, n)."""
    theta = np.stack([models.minimise(data.X, sigma(data.z_limit), lam) for lam in lambdas])
    return np.matvec(data.X, theta) - data.z_limit


def random_labels_end(rng: np.random.Generator, runs: int) -> End:
    """Run random labels (Proposition 2) on one data set, with step sizes as assumed in A.1.

    The mean of the logits over runs should approach 0.
    """
    data, x_q = draw_points(rng, 1, 4, 6, 2), rng.standard_normal((10, 6))
    labels = models.draw_labels(rng, (5_000, runs, 2))
    return _end(data, data.X_F, labels, x_q, np.zeros(6))


def retain_finetuning_end(rng: np.random.Generator, runs: int) -> End:
    """Run retain fine-tuning (Proposition 3) on one data set, with step sizes as assumed in A.1.

    The mean of the logits over runs should approach the logits of theta^(lam).
    """
    data, x_q = draw_points(rng, 1, 4, 6, 2), rng.standard_normal((10, 6))
    y_R = sigma(data.z_R)
    targets = models.draw_targets(rng, 10_000, 2, np.repeat(y_R, runs, axis=0))
    limit = models.minimise(data.X, join(np.full(2, 0.5), y_R), LAMBDA)[0]
    return _end(data, data.X, targets, x_q, limit)


def _end(data: Points, X: Array, labels: Array, x_q: Array, limit: Array) -> End:
    """Run gradient descent on X from theta_full, and return logits of the queries x_q.

    They are the logits of the last theta, of `limit` and of theta_retrain.
    """
    steps, runs = labels.shape[:2]
    eta = models.step_sizes(steps, a=30, b=100)
    theta = models.descend(np.repeat(data.theta_full, runs, axis=0), X, labels, eta, LAMBDA)
    return End(*(np.matvec(x_q, found) for found in (theta[-1], limit, data.theta_retrain[0])))


def largest_t(logits: Array, mean: Array) -> float:
    """Return the largest |t| over queries; the t-test compares the mean logit with `mean`."""
    standard_error = logits.std(0, ddof=1) / np.sqrt(len(logits))
    return float(np.max(np.abs((logits.mean(0) - mean) / standard_error)))


def critical_t(logits: Array) -> float:
    """Return the critical value of `largest_t` at a level of 0.001, by Bonferroni over queries."""
    runs, queries = logits.shape
    return float(stats.t.ppf(1 - 0.001 / (2 * queries), runs - 1))

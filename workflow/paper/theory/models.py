"""Propositions 1 to 4: unlearning in linear and logistic regression, in closed form and by steps.

**Proposition 1 (3.1 in the paper): gradient ascent on one deleted point in linear regression.**
y = X theta_true + xi, xi ~ N(0, sigma2), x_i ~ N(0, Sigma), n > d; theta_full and theta_retrain are
the least-squares solutions with and without (x_f, y_f). After T ascent steps from theta_full, the
loss of a retained point x_q exceeds that of retraining, in expectation over xi given X, by

    E (<x_q, theta_T> - y_q)^2 - E (<x_q, theta_retrain> - y_q)^2
        = <x_q, x_f>^2 c(T, eta, x_f) sigma2 + O_p(1/n).

Residuals are prediction minus target; the squared loss has no factor 1/2.

In Propositions 2 to 4 all models interpolate: they fit the logits of their training points exactly.

**Proposition 2 (3.2 in the paper): random labels on the forget set F.** theta_0 = theta_full, and
with labels ytilde_t iid Bernoulli(1/2),

    theta_{t+1} = (1 - eta_t lam) theta_t - eta_t X_F'(sigma(X_F theta_t) - ytilde_t).

With z_t^(q) = <theta_t, x_q>, z_t^(F) = X_F theta_t, alpha_q = (X_F X_F')^-1 X_F x_q and
Gamma_{0:T} = prod_t (1 - eta_t lam), every retained x_q satisfies

    <theta_T, x_q> - <theta_retrain, x_q>
        = (Gamma_{0:T} - 1) z_0^(q) + alpha_q'(z_T^(F) - Gamma_{0:T} z_0^(F)),

exactly, for every draw of the labels, and also with F replaced by A = F u R (appendix A.3).

**Proposition 3 (3.3 in the paper): random labels on F and fine-tuning on all retained points R.**
The mean of the trajectory (`descend` on [X_F; X_R] with `draw_targets`) tends to
theta^(lam) = argmin sum_R l(theta; x, sigma(z)) + sum_F l(theta; x, 1/2) + lam/2 |theta|^2.
As lam -> 0+, <theta^(lam), x_q> -> <theta_retrain, x_q> on every retained x_q, but on
x_q = X_R'v_R + X_F'v_F a residual remains:

    <theta^(lam), x_q> - <theta_retrain, x_q> -> -<theta_retrain, X_F'v_F>.

**Proposition 4 (A.2 and corollary A.3 in the paper): labels from support points.** A helper model
is fitted to the logits of a support S within R. Its logits on X_F and the true logits on R are
interpolated: theta_unlearn = pinv(X)[X_F theta_S; z_R]. For any query,

    Delta = |<theta_unlearn - theta_retrain, x_q>| = |alpha_{q,F}' R_S theta_retrain|
          <= |alpha_{q,F}| |R_S| |theta_retrain|,        R_S = X_F (I - P_S).

The paper has one deleted point x_f and one support point x_s, where R_S is r_s = x_f - P_s x_f and
|r_s|^2 = |x_f|^2 (1 - cos^2(x_f, x_s)). Its proof holds for several of both: here X_F has m rows,
X_S any number, and |R_S| is the spectral norm. theta_full and theta_retrain have minimal norm.

Shapes: X (..., n, d), y (..., n), x_f (..., d), queries x_q (..., q, d), trajectories
(T + 1, ..., d), eta (T,), labels (T, ..., |A|).
"""

import numpy as np

from paper.theory.interpolation import (
    Array,
    at_step,
    coordinates,
    join,
    min_norm,
    project,
    sigma,
    solve,
    square_norm,
)


def draw_responses(rng: np.random.Generator, X: Array, sigma2: float) -> Array:
    """Draw y = X theta_true + xi, with standard normal theta_true and xi ~ N(0, sigma2)."""
    theta_true = rng.standard_normal((*X.shape[:-2], X.shape[-1]))
    return np.matvec(X, theta_true) + np.sqrt(sigma2) * rng.standard_normal(X.shape[:-1])


def least_squares(X: Array, y: Array) -> Array:
    """Return (X'X)^-1 X'y."""
    return solve(X.mT @ X, np.vecmat(y, X))


def ascend(theta_full: Array, x_f: Array, y_f: Array, eta: float, T: int) -> Array:
    """Run T steps of gradient ascent on (x_f, y_f); return theta_0 = theta_full, ..., theta_T.

    The steps are along a new first axis.
    """
    theta = [theta_full]
    for _ in range(T):
        r_f = np.vecdot(x_f, theta[-1]) - y_f
        theta.append(theta[-1] + 2 * eta * x_f * r_f[..., None])
    return np.stack(theta)


def amplification(x_f: Array, eta: float, T: int) -> Array:
    """Return (1 + 2 eta |x_f|^2)^T, the factor by which the residual of x_f grows in T steps."""
    return (1 + 2 * eta * square_norm(x_f)) ** T


def gain(x_f: Array, eta: float, T: int) -> Array:
    """Return ((1 + 2 eta |x_f|^2)^T - 1) / |x_f|^2, accurate also if the power is close to 1."""
    return np.expm1(T * np.log1p(2 * eta * square_norm(x_f))) / square_norm(x_f)


def alpha(x_q: Array, x_f: Array, eta: float, T: int) -> Array:
    """Return alpha_T, which tells how ascent on x_f changes the residual of each query x_q.

    T steps add alpha_T times the initial residual of x_f to it.
    """
    return np.matvec(x_q, x_f) * gain(x_f, eta, T)[..., None]  # (..., q)


def c(x_f: Array, eta: float, T: int) -> Array:
    """Return c(T, eta, x_f), the factor in the leading term of Proposition 1."""
    return gain(x_f, eta, T) ** 2


def leverages(X: Array, x_f: Array, x_q: Array) -> tuple[Array, Array]:
    """Return the entries h_qf and h_ff of the hat matrix H = X (X'X)^-1 X'."""
    column = solve(X.mT @ X, x_f)
    return np.matvec(x_q, column), np.vecdot(x_f, column)


def case_deletion(e_q: Array, e_f: Array, h_qf: Array, h_ff: Array) -> Array:
    """Return the residuals of theta_retrain at x_q, computed from those of theta_full."""
    return e_q + h_qf * (e_f / (1 - h_ff))[..., None]


def ascent_term(alpha_T: Array, h_qf: Array, h_ff: Array, sigma2: float) -> Array:
    """Return A_n: theta_T's expected loss at x_q minus theta_full's."""
    return sigma2 * (alpha_T**2 * (1 - h_ff[..., None]) - 2 * alpha_T * h_qf)


def retrain_term(h_qf: Array, h_ff: Array, sigma2: float) -> Array:
    """Return B_n: theta_full's expected loss at x_q minus theta_retrain's."""
    return sigma2 * h_qf**2 / (1 - h_ff[..., None])


def excess_loss(alpha_T: Array, h_qf: Array, h_ff: Array, sigma2: float) -> Array:
    """Return A_n + B_n: theta_T's expected loss at x_q minus theta_retrain's.

    This difference is a square, so it is never negative; the paper does not state this.
    """
    kept = 1 - h_ff[..., None]
    return sigma2 * kept * (alpha_T - h_qf / kept) ** 2


def leading_term(x_q: Array, x_f: Array, eta: float, T: int, sigma2: float) -> Array:
    """Return <x_q, x_f>^2 c(T, eta, x_f) sigma2, the leading term of Proposition 1."""
    return np.matvec(x_q, x_f) ** 2 * c(x_f, eta, T)[..., None] * sigma2


def draw_labels(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Draw random labels, Bernoulli(1/2)."""
    return rng.integers(0, 2, shape).astype(np.float64)


def descend(theta_0: Array, X_A: Array, labels: Array, eta: Array, lam: float) -> Array:
    """Return theta_0, ..., theta_T of gradient descent on X_A, with new labels at each step."""
    theta = [theta_0]
    for eta_t, y_t in zip(eta, labels, strict=True):
        gradient = np.vecmat(sigma(np.matvec(X_A, theta[-1])) - y_t, X_A)
        theta.append((1 - eta_t * lam) * theta[-1] - eta_t * gradient)
    return np.stack(theta)


def decay(eta: Array, lam: float) -> Array:
    """Return Gamma_{0:T}, the product of 1 - eta_t lam over t < T, for T = 0, ..., len(eta)."""
    return np.concatenate([[1.0], np.cumprod(1 - eta * lam)])


def shrinkage(z_0_q: Array, Gamma: Array) -> Array:
    """Return Proposition 2's first term, (Gamma_{0:T} - 1) z_0^(q), for each T."""
    return at_step(Gamma - 1, z_0_q[None]) * z_0_q


def perturbation(alpha_q: Array, z_A: Array, Gamma: Array) -> Array:
    """Return Proposition 2's second term, alpha_q'(z_T^(A) - Gamma_{0:T} z_0^(A)), for each T."""
    return np.matvec(alpha_q, z_A - at_step(Gamma, z_A) * z_A[0])


def minimise(X_A: Array, y_A: Array, lam: float) -> Array:
    """Return the theta that minimises the logistic loss on A plus weight decay lam/2 |theta|^2.

    It lies in span(X_A'). With theta = X_A'u the gradient is zero where lam u + sigma(Gu) - y = 0.
    Newton's method solves this equation, which, unlike the primal problem, stays well conditioned
    as lam -> 0.
    """
    G = X_A @ X_A.mT
    u = np.zeros_like(y_A)
    for _ in range(100):
        p = sigma(np.matvec(G, u))
        jacobian = lam * np.eye(G.shape[-1]) + (p * (1 - p))[..., None] * G
        step = solve(jacobian, lam * u + p - y_A)
        u = u - step
        # Convergence is quadratic, so only rounding error is left after a relative step of 1e-9.
        if np.all(np.abs(step).max(-1) <= 1e-9 * np.abs(u).max(-1)):
            return np.vecmat(u, X_A)
    raise ValueError(f"Newton's method did not converge in 100 steps at lam={lam:g}")


def rate(X_A: Array, z_A: Array) -> Array:
    """Return the derivative of Proposition 3's logits X_A theta^(lam) with respect to lam, at 0.

    At lam = 0 the logits are z_A. The derivative is not in the paper; it follows from
    lam G^-1 w + sigma(w) = sigma(z_A), where w are the logits at lam and G = X_A X_A'.
    """
    p = sigma(z_A)
    return -solve(X_A @ X_A.mT, z_A) / (p * (1 - p))


def residual(theta_retrain: Array, X_F: Array, v_F: Array) -> Array:
    """Return Proposition 3's residual -<theta_retrain, X_F'v_F> for the row v_F of every query."""
    return -np.matvec(v_F, np.matvec(X_F, theta_retrain))


def draw_targets(rng: np.random.Generator, T: int, m: int, y_R: Array) -> Array:
    """Draw the labels of [X_F; X_R] for each of T steps: random on F, true soft targets on R."""
    return join(draw_labels(rng, (T, *y_R.shape[:-1], m)), y_R)


def step_sizes(T: int, a: float, b: float) -> Array:
    """Return step sizes eta_t = a / (t + b), which satisfy assumption A.1 of the paper."""
    return a / (np.arange(T) + b)


def helper(X_S: Array, theta_full: Array) -> Array:
    """Return theta_S, the shortest theta that has theta_full's logits on the support."""
    return min_norm(X_S, np.matvec(X_S, theta_full))


def transferred_logits(X_F: Array, theta_S: Array, z_R: Array) -> Array:
    """Return the target logits of Proposition 4: the helper's logits on F, the true ones on R."""
    return join(np.matvec(X_F, theta_S), z_R)


def unlearn(X_F: Array, X_R: Array, theta_S: Array, z_R: Array) -> Array:
    """Return theta_unlearn, the shortest theta that has the transferred logits on F and R."""
    X = np.concatenate([X_F, X_R], axis=-2)
    return min_norm(X, transferred_logits(X_F, theta_S, z_R))


def forget_coordinates(X_F: Array, X_R: Array, x_q: Array) -> Array:
    """Return alpha_{q,F}: the coefficients of each query x_q on the forgotten points.

    They are the first of its coefficients on all points, the rows of [X_F; X_R].
    """
    return coordinates(np.concatenate([X_F, X_R], axis=-2), x_q)[..., : X_F.shape[-2]]


def support_residual(X_F: Array, X_S: Array) -> Array:
    """Return R_S = X_F - X_F P_S, the part of each deleted point that is orthogonal to the support.

    P_S projects on span(X_S'). R_S has one row r_s per deleted point.
    """
    return X_F - project(X_S, X_F)


def deviation(alpha_F: Array, R_S: Array, theta_retrain: Array) -> Array:
    """Return Proposition 4's Delta for every query, computed as |alpha_{q,F}' R_S theta_retrain|.

    Delta is the absolute difference between the logits of theta_unlearn and theta_retrain.
    """
    return np.abs(np.matvec(alpha_F, np.matvec(R_S, theta_retrain)))


def bound(alpha_F: Array, R_S: Array, theta_retrain: Array) -> Array:
    """Return the bound of Proposition 4, |alpha_{q,F}| |R_S| |theta_retrain|, for every query."""
    spectral = np.linalg.norm(R_S, ord=2, axis=(-2, -1))
    scale = spectral * np.linalg.norm(theta_retrain, axis=-1)
    return np.linalg.norm(alpha_F, axis=-1) * scale[..., None]


def mean_square_deviation(alpha_F: Array, X_F: Array, X_R: Array, X_S: Array) -> Array:
    """Return E Delta^2 for logits z = X theta_true with theta_true ~ N(0, I); not in the paper.

    Then theta_retrain = P_R theta_true, so E Delta^2 = |alpha_{q,F}' X_F (P_R - P_S)|^2. With one
    x_f and one x_s it is alpha_{q,F}^2 (|P_R x_f|^2 - |x_f|^2 cos^2(x_f, x_s)), falling with |cos|.
    """
    return square_norm(alpha_F @ (project(X_R, X_F) - project(X_S, X_F)))


def cosine(x_f: Array, x_s: Array) -> Array:
    """Return the cosine between the vectors x_f and x_s, which are along the last axis."""
    return np.vecdot(x_f, x_s) / np.linalg.norm(x_f, axis=-1) / np.linalg.norm(x_s, axis=-1)

"""P1 by hand: x = (1, 2, 2), y = (0, 1, 3.5), the first point deleted, theta_full = 9/9 = 1."""

import numpy as np
import pytest

from paper.theory import models

X = np.array([[1.0], [2.0], [2.0]])
Y = np.array([0.0, 1.0, 3.5])
X_F, Y_F, X_Q = X[0], Y[0], X[1:2]
ETA, T, SIGMA2 = 0.5, 2, 0.1
H_QF, H_FF = np.array([2 / 9]), np.array(1 / 9)


def test_least_squares_with_and_without_the_deleted_point():
    assert models.least_squares(X, Y) == pytest.approx([1])
    assert models.least_squares(X[1:], Y[1:]) == pytest.approx([9 / 8])


def test_ascent_doubles_the_deleted_residual_at_each_step():
    theta = models.ascend(np.array([1.0]), X_F, Y_F, ETA, T)
    assert theta[:, 0] == pytest.approx([1, 2, 4])
    assert models.amplification(X_F, ETA, T) == pytest.approx(4)


def test_alpha_and_c_after_two_steps():
    assert models.alpha(X_Q, X_F, ETA, T) == pytest.approx([6])
    assert models.c(X_F, ETA, T) == pytest.approx(9)


def test_leverages_are_entries_of_the_hat_matrix():
    h_qf, h_ff = models.leverages(X, X_F, X_Q)
    assert (h_qf, h_ff) == (pytest.approx(H_QF), pytest.approx(H_FF))


def test_case_deletion_gives_the_retrained_residual():
    # <x_q, theta_retrain> - y_q = 2 * 9/8 - 1, and e_q = e_f = 1
    assert models.case_deletion(np.array([1.0]), np.array(1.0), H_QF, H_FF) == pytest.approx([1.25])


def test_excess_loss_is_the_sum_of_both_terms():
    alpha = np.array([6.0])
    A_n = models.ascent_term(alpha, H_QF, H_FF, SIGMA2)
    B_n = models.retrain_term(H_QF, H_FF, SIGMA2)
    assert A_n == pytest.approx([0.1 * (36 * 8 / 9 - 12 * 2 / 9)])
    assert B_n == pytest.approx([0.1 * 4 / 72])
    assert models.excess_loss(alpha, H_QF, H_FF, SIGMA2) == pytest.approx(A_n + B_n)


def test_leading_term_is_the_squared_alignment_times_c():
    assert models.leading_term(X_Q, X_F, ETA, T, SIGMA2) == pytest.approx([4 * 9 * 0.1])


@pytest.mark.parametrize(
    ("eta", "log10_growth"),
    [(0.05, 450 * np.log10(2)), (0.05 / 10, 450 * np.log10(1.1)), (0.05 / 5000, 0.03905)],
    ids=["literal", "over mean |x|^2", "over n"],
)
def test_growth_at_the_papers_settings(eta, log10_growth):
    x_f = np.ones(10)  # |x_f|^2 = 10, the mean for x ~ N(0, I_10)
    growth = models.amplification(x_f, eta, 450)
    assert np.log10(growth) == pytest.approx(log10_growth, rel=1e-3)  # the digits given above


def test_runs_do_not_mix():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 12, 4)), rng.standard_normal((3, 12))
    together = models.ascend(models.least_squares(X, y), X[:, 0], y[:, 0], 0.01, 5)
    alone = models.ascend(models.least_squares(X[1], y[1]), X[1, 0], y[1, 0], 0.01, 5)
    np.testing.assert_allclose(together[:, 1], alone, rtol=1e-12)  # rounding of other BLAS calls

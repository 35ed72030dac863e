"""P4 by hand: x_f = (1, 1, 1), x_s = (1, 0, 0), another retained (0, 1, 0), logits z_R = (1, 3)."""

import numpy as np
import pytest

from paper.theory import models

X_F = np.array([[1.0, 1.0, 1.0]])
X_R = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
X_S, Z_R = X_R[:1], np.array([1.0, 3.0])
X_Q = np.array([[0.0, 0.0, 2.0], [5.0, 1.0, 0.0]])  # the second in span(X_R')
THETA_FULL, THETA_RETRAIN = np.array([1.0, 3.0, 7.0]), np.array([1.0, 3.0, 0.0])
ALPHA_F, R_S = np.array([[2.0], [0.0]]), np.array([[0.0, 1.0, 1.0]])


def test_the_helper_fits_the_support_alone():
    assert models.helper(X_S, THETA_FULL) == pytest.approx([1, 0, 0])


def test_unlearning_interpolates_the_helpers_logit_and_the_true_ones():
    theta = models.unlearn(X_F, X_R, np.array([1.0, 0.0, 0.0]), Z_R)
    assert theta == pytest.approx([1, 3, -3])


def test_the_forget_coordinate_is_zero_in_the_retained_span():
    # (0, 0, 2) = 2 x_f - 2 (1, 0, 0) - 2 (0, 1, 0)
    assert models.forget_coordinates(X_F, X_R, X_Q) == pytest.approx(ALPHA_F, abs=1e-15)


def test_the_support_residual_is_what_the_support_does_not_span():
    assert models.support_residual(X_F, X_S) == pytest.approx(R_S)


def test_the_deviation_is_that_of_the_two_models():
    # <(1, 3, -3) - (1, 3, 0), (0, 0, 2)> = -6
    assert models.deviation(ALPHA_F, R_S, THETA_RETRAIN) == pytest.approx([6, 0])


def test_the_bound_multiplies_the_norms():
    bound = models.bound(ALPHA_F, R_S, THETA_RETRAIN)
    assert bound == pytest.approx([2 * np.sqrt(2) * np.sqrt(10), 0])


def test_mean_square_deviation_of_linear_logits():
    # alpha^2 (|P_R x_f|^2 - |x_f|^2 cos^2) = 4 (2 - 3 / 3)
    deviation = models.mean_square_deviation(ALPHA_F, X_F, X_R, X_S)
    assert deviation == pytest.approx([4, 0])


def test_cosine_of_one_axis_and_the_diagonal():
    assert models.cosine(X_F, X_S) == pytest.approx([1 / np.sqrt(3)])

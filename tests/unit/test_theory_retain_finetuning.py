"""P3 by hand, where the logits decouple."""

import numpy as np
import pytest

from paper.theory import models
from paper.theory.interpolation import sigma


def test_newton_solves_two_decoupled_points():
    # With X = 2 I the gradient is lam theta + 2 (sigma(2 theta) - y).
    theta, lam = np.array([0.5, -0.25]), 0.1
    y = sigma(2 * theta) + lam * theta / 2
    assert models.minimise(2 * np.eye(2), y, lam) == pytest.approx(theta, rel=1e-12)  # rounding


def test_newton_says_when_it_does_not_converge():
    with pytest.raises(ValueError, match=r"did not converge in 100 steps at lam=0.1"):
        models.minimise(np.eye(1), np.array([np.nan]), 0.1)


def test_soft_target_one_half_leaves_no_logit():
    assert models.minimise(np.eye(3), np.full(3, 0.5), 0.01) == pytest.approx([0, 0, 0], abs=1e-15)


def test_the_residual_is_the_forget_part_of_the_query():
    theta_retrain, X_F = np.array([0.0, 2.0]), np.array([[1.0, 1.0]])
    assert models.residual(theta_retrain, X_F, np.array([[3.0], [0.0]])) == pytest.approx([-6, 0])


def test_the_rate_of_one_point():
    # lam u + sigma(4u) = sigma(z): dz/dlam = -(z / 4) / sigma'(z)
    z, p = np.array([1.0]), sigma(1.0)
    rate = models.rate(np.array([[2.0]]), z)
    assert rate == pytest.approx([-0.25 / (p * (1 - p))])


def test_targets_are_random_on_forget_points_and_true_on_retained():
    y_R = np.array([[0.2, 0.7], [0.1, 0.9]])
    targets = models.draw_targets(np.random.default_rng(0), T=50, m=3, y_R=y_R)
    assert targets.shape == (50, 2, 5)
    assert set(np.unique(targets[..., :3])) == {0, 1}
    assert (targets[..., 3:] == y_R).all()


def test_step_sizes_fall_as_one_over_t():
    assert models.step_sizes(3, a=6, b=2) == pytest.approx([3, 2, 1.5])

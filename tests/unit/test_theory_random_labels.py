"""P2 by hand: x_f = (2, 0), x_q = (1, 1), theta_0 = (0, 3), one step with label 1."""

import numpy as np
import pytest

from paper.theory import models
from paper.theory.interpolation import coordinates, min_norm, project

X_F, X_Q = np.array([[2.0, 0.0]]), np.array([[1.0, 1.0]])
THETA_0 = np.array([0.0, 3.0])
ETA, LAM = np.array([0.5]), 0.1
LABELS = np.array([[1.0]])


def test_a_step_of_the_theory_shrinks_the_weights_and_follows_the_gradient():
    # sigma(0) = 1/2, gradient (1/2 - 1) x_f = (-1, 0), decay 1 - 0.05
    theta = models.descend(THETA_0, X_F, LABELS, ETA, LAM)
    assert theta[1] == pytest.approx([0.5, 2.85])


def test_decay_is_the_running_product():
    assert models.decay(np.array([0.5, 1.0]), 0.1) == pytest.approx([1, 0.95, 0.95 * 0.9])


def test_shrinkage_and_perturbation_add_up_to_the_change():
    Gamma = models.decay(ETA, LAM)
    z_F = np.array([[0.0], [1.0]])
    shrunk = models.shrinkage(X_Q @ THETA_0, Gamma)
    perturbed = models.perturbation(coordinates(X_F, X_Q), z_F, Gamma)
    assert shrunk[1] == pytest.approx([-0.15])
    assert perturbed[1] == pytest.approx([0.5])
    assert 3 + shrunk[1] + perturbed[1] == pytest.approx(X_Q @ [0.5, 2.85])


def test_coordinates_and_projection_on_one_point():
    assert coordinates(X_F, X_Q) == pytest.approx(np.array([[0.5]]))
    assert project(X_F, X_Q) == pytest.approx(np.array([[1.0, 0.0]]))


def test_the_min_norm_interpolant_has_no_part_outside_the_span():
    assert min_norm(X_F, np.array([6.0])) == pytest.approx([3, 0])


def test_labels_are_fair_coins():
    labels = models.draw_labels(np.random.default_rng(0), (100, 100))
    assert set(np.unique(labels)) == {0, 1}
    assert abs(labels.mean() - 0.5) < 4 * 0.5 / 100  # four standard errors


def test_without_decay_a_query_orthogonal_to_the_forget_set_does_not_move():
    theta = models.descend(THETA_0, X_F, LABELS, ETA, 0.0)
    assert theta[1] @ [0, 1] == THETA_0 @ [0, 1]

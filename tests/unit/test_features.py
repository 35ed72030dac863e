"""Linear probes and CKA: known answers."""

import math

import numpy as np
import pytest

from collateral.metrics.features import (
    debiased_cka,
    draw_by_class,
    fit_head,
    head_accuracy,
    unbiased_hsic,
)

A = np.array([(1, 0), (0, 1), (1, 1), (2, 0), (0, 3)], float)
B = np.array([(1, 2), (2, 1), (0, 1), (3, 1), (1, 5)], float)


def gram(x):
    found = x @ x.T
    np.fill_diagonal(found, 0)
    return found


def test_hsic_and_cka_of_five_points_are_as_worked_out_by_hand():
    found = [unbiased_hsic(gram(x), gram(y)) for x, y in ((A, B), (A, A), (B, B))]
    assert found == pytest.approx([-1.066667, 2.0, 2.5], abs=1e-6)
    assert debiased_cka(A, B) == pytest.approx(-0.477028, abs=1e-6)
    assert debiased_cka(A + 7, B - 3) == pytest.approx(debiased_cka(A, B))


def test_unrelated_features_have_cka_near_zero():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 64)), rng.normal(size=(100, 64))
    assert debiased_cka(x, y) == pytest.approx(-0.002815, abs=1e-6)


def test_rotated_scaled_and_shifted_features_have_cka_one():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 5))
    rotation = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    assert debiased_cka(x, 3 * x @ rotation + 2) == pytest.approx(1)
    assert debiased_cka(x * np.arange(1, 6), x) < 0.95  # one scale per feature is no rotation


def test_constant_features_and_three_examples_have_no_cka():
    assert math.isnan(debiased_cka(np.full((9, 3), 0.1), B[[0, 1, 2, 3, 4, 0, 1, 2, 3]]))
    assert math.isnan(debiased_cka(A[:3], B[:3]))


def test_the_head_of_two_points_is_as_worked_out_by_hand():
    head = fit_head(np.array([[-1.0], [1.0]]), np.array([0, 1]), 1.0)
    assert head[-1].coef_.item() == pytest.approx(0.674832, abs=1e-4)
    assert head[-1].intercept_.item() == pytest.approx(0, abs=1e-6)


def test_the_scale_of_a_feature_does_not_count_and_a_constant_one_does_no_harm():
    rng = np.random.default_rng(2)
    label = np.arange(60) % 3
    features = np.eye(3)[label] + 0.5 * rng.normal(size=(60, 3))
    found = []
    for scale in (0.01, 1, 100):
        scaled = np.column_stack([scale * features, np.full(60, 5.0)])
        found.append(head_accuracy(fit_head(scaled[:40], label[:40], 1.0), scaled[40:], label[40:]))
    assert found[0] == found[1] == found[2] > 0.6


def test_classes_that_the_head_never_saw_are_left_out():
    features, label = np.array([[-1.0], [-2.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    head = fit_head(features, label, 1.0)
    assert head_accuracy(head, np.array([[-1.0], [3.0]]), np.array([0, 2])) == 1
    assert math.isnan(head_accuracy(head, np.array([[3.0]]), np.array([2])))


def test_a_draw_has_the_same_share_of_every_class_and_all_if_there_are_few():
    label = np.repeat([0, 1, 2], [600, 300, 100])
    chosen = draw_by_class(label, 100, np.random.default_rng(0))
    assert len({*chosen.tolist()}) == 100
    assert np.abs(np.bincount(label[chosen]) - [60, 30, 10]).max() <= 1
    assert draw_by_class(label, 5000, np.random.default_rng(0)).tolist() == list(range(1000))

"""Accuracies of a few examples, worked out by hand."""

import math

import numpy as np
import pytest

from collateral.findings.accuracy.numbers import accuracies, accuracy
from collateral.results.dataset import Labels
from collateral.results.split import Split

# Four training examples of classes 0 and 1, the first forgotten; four test examples.
LABELS = Labels(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]), ("a", "b", "c"))
SPLIT = Split(np.array([0]), 4, (0,), {})
TRAIN = np.array([0, 1, 1, 0])  # right, wrong, right, wrong
TEST = np.array([0, 1, 2, 2])  # right, right, wrong, right


def test_accuracies_of_four_examples_are_as_worked_out_by_hand():
    assert accuracies(TRAIN, TEST, LABELS, SPLIT) == {
        "ua": 1.0,
        "ra": pytest.approx(1 / 3),
        "ta": 0.75,
        "ua_affected": 1.0,
        "ra_affected": 0.0,  # the second example alone
        "ta_affected": 1.0,  # the first test example alone
    }


def test_affected_ra_is_undefined_where_the_whole_class_is_gone():
    split = Split(np.array([0, 1]), 4, (0,), {})
    values = accuracies(TRAIN, TEST, LABELS, split)
    assert math.isnan(values["ra_affected"])
    assert values["ra"] == 0.5


def test_all_affected_classes_count_where_there_are_several():
    split = Split(np.array([0, 2]), 4, (0, 1), {})
    values = accuracies(TRAIN, TEST, LABELS, split)
    assert values["ua_affected"] == values["ua"] == 1.0
    assert values["ta_affected"] == pytest.approx(2 / 3)


def test_accuracy_of_no_example_is_undefined():
    nothing = np.array([], dtype=np.int64)
    assert math.isnan(accuracy(nothing, nothing))

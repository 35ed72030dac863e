"""Accuracies of a few examples, worked out by hand."""

import math

import numpy as np
import pytest

from collateral.metrics.accuracy import accuracies, accuracy
from collateral.results.split import Split

# Four training examples of classes 0 and 1, the first forgotten; four test examples.
LABELS = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])
SPLIT = Split(np.array([0]), 4, (0,), {})
PREDICTIONS = (
    np.array([0, 1, 1, 0]),  # right, wrong, right, wrong
    np.array([0, 1, 2, 2]),  # right, right, wrong, right
)


def measure(split: Split) -> dict[str, float]:
    return accuracies(split.divide(*PREDICTIONS), split.divide(*LABELS), split.affected)


def test_accuracies_of_four_examples_are_as_worked_out_by_hand():
    assert measure(SPLIT) == {
        "ua": 1.0,
        "ra": pytest.approx(1 / 3),
        "ta": 0.75,
        "ua_affected": 1.0,
        "ra_affected": 0.0,  # the second example alone
        "ta_affected": 1.0,  # the first test example alone
    }


def test_affected_ra_is_undefined_where_the_whole_class_is_gone():
    split = Split(np.array([0, 1]), 4, (0,), {})
    values = measure(split)
    assert math.isnan(values["ra_affected"])
    assert values["ra"] == 0.5


def test_all_affected_classes_count_where_there_are_several():
    split = Split(np.array([0, 2]), 4, (0, 1), {})
    values = measure(split)
    assert values["ua_affected"] == values["ua"] == 1.0
    assert values["ta_affected"] == pytest.approx(2 / 3)


def test_accuracy_of_no_example_is_undefined():
    nothing = np.array([], dtype=np.int64)
    assert math.isnan(accuracy(nothing, nothing))

"""Three classes, `far`, `near` and `gone`, of which the last is deleted; worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun

from collateral.findings.classes.numbers import other_classes
from collateral.findings.metric_index import find_metric
from collateral.metrics.accuracy import class_accuracy
from collateral.metrics.association import fitted_slope
from collateral.metrics.statistics import interval_half_width
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Outputs
from collateral.results.split import Split

FAR, NEAR, GONE = range(3)
LABELS = Labels(
    train=np.array([FAR] * 4 + [NEAR] * 4 + [GONE] * 2),
    test=np.array([FAR] * 4 + [NEAR] * 4 + [GONE] * 4),
    class_names=("far", "near", "gone"),
)
WHOLE = Split(np.array([8, 9]), 10, (GONE,), {"class": "gone", "fraction": 1.0})
HALF = Split(np.array([8]), 10, (GONE,), {"class": "gone", "fraction": 0.5})
SIMILARITY = np.array([[0.2, 0.6, 1], [0.1, 0.9, 1]], dtype=np.float32)  # by seed and class
NEIGHBOURS = Neighbours(
    seeds=np.array([3, 5]),
    train_similarity=np.ones((2, 10), dtype=np.float32),
    test_similarity=np.ones((2, 12), dtype=np.float32),
    class_similarity=SIMILARITY,
    shown_set=np.array([], dtype=str),
    shown_index=np.array([], dtype=np.int64),
)


def outputs(prediction: np.ndarray) -> Outputs:
    logits = np.eye(3)[prediction].astype(np.float16)
    return Outputs(logits, np.full(len(prediction), 0.5, dtype=np.float32), prediction)


def model(*right: int) -> FakeRun:
    """Return a model that is right on so many of the four test examples of each class."""
    wrong = (LABELS.test + 1) % 3
    is_right = np.arange(12) % 4 < np.repeat(right, 4)
    test = outputs(np.where(is_right, LABELS.test, wrong))
    return FakeRun(outputs(LABELS.train), test)


RUNS = {
    ("retrain", 3): model(4, 4, 0),
    ("retrain", 5): model(3, 4, 0),
    ("ga", 3): model(4, 2, 1),
    ("ga", 5): model(3, 2, 0),
}
CELL = FakeCell(LABELS, WHOLE, NEIGHBOURS, RUNS)
# Both lose half of `near` and nothing of `far`: over distances of 0.4 and 0.8.
SLOPES = (1.25, 0.625)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[tuple, float]:
    return CELL.numbers(tmp_path_factory.mktemp("cell"))


def test_accuracy_is_counted_class_by_class():
    prediction, label = np.array([0, 1, 1, 1, 0]), np.array([0, 0, 1, 1, 1])
    assert class_accuracy(prediction, label, 2) == pytest.approx([1 / 2, 2 / 3])


def test_a_class_without_examples_has_no_accuracy():
    rates = class_accuracy(np.array([0, 2]), np.array([0, 2]), 4)
    assert np.isnan(rates).tolist() == [False, True, False, True]


def test_the_other_classes_are_kept_where_a_class_is_deleted_whole():
    assert other_classes(LABELS, WHOLE) == (FAR, NEAR)
    two = Split(np.arange(4, 10), 10, (NEAR, GONE), {})
    assert other_classes(LABELS, two) == (FAR,)


def test_no_class_counts_as_kept_where_one_is_deleted_in_part():
    assert other_classes(LABELS, HALF) == ()
    one_of_two = Split(np.array([7, 8, 9]), 10, (NEAR, GONE), {})
    assert other_classes(LABELS, one_of_two) == ()


def test_the_slope_is_that_of_the_least_squares_line():
    # Around the means 1 and 1: (1 * 1 + 0 * -1 + 1 * 2) / 2.
    assert fitted_slope([0, 1, 2], [0, 0, 3]) == pytest.approx(1.5)


def test_undefined_points_do_not_bend_the_line():
    assert fitted_slope([0, 1, 2, math.nan, 7], [0, 0, 3, 5, math.nan]) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1], [1]), ([1, 1], [0, 1]), ([0, 1], [1, math.nan])]
)
def test_without_two_places_there_is_no_slope(x, y):
    assert math.isnan(fitted_slope(x, y))


def test_the_interval_is_students():
    # t of 2 degrees of freedom: 4.302653.
    expected = 4.302653 / math.sqrt(3)
    assert interval_half_width(np.array([1.0, 2.0, 3.0])) == pytest.approx(expected, rel=1e-6)
    assert interval_half_width(np.array([1.0, math.nan, 2.0, 3.0])) == interval_half_width(
        np.array([1.0, 2.0, 3.0])
    )
    assert math.isnan(interval_half_width(np.array([1.0, math.nan])))


def test_each_kept_class_has_its_similarity_to_the_deleted_one(found):
    for row, seed in enumerate((3, 5)):
        for c, name in enumerate(("far", "near")):
            assert found["retrain", seed, "class_similarity", name] == SIMILARITY[row, c]
    assert ("retrain", 3, "class_similarity", "gone") not in found


def test_the_drop_is_retrain_minus_unlearned_of_the_same_seed(found):
    drops = [[found["ga", s, "class_drop", n] for n in LABELS.class_names] for s in (3, 5)]
    assert drops == [[0, 0.5, -0.25], [0, 0.5, 0]]
    assert ("retrain", 3, "class_drop", "far") not in found


def test_the_slope_is_the_mean_over_seeds_with_an_interval(found):
    # float32 similarities. Two seeds: the standard error is half their distance, t is 12.7062.
    assert found["ga", None, "class_slope"] == pytest.approx(np.mean(SLOPES), rel=1e-6)
    reach = 12.7062 * (SLOPES[0] - SLOPES[1]) / 2
    assert found["ga", None, "class_slope_low"] == pytest.approx(np.mean(SLOPES) - reach, rel=1e-5)
    assert found["ga", None, "class_slope_high"] == pytest.approx(np.mean(SLOPES) + reach, rel=1e-5)


def test_the_noise_of_a_drop_is_that_of_retrainings(found):
    # Accuracies 1 and 3/4: a standard deviation of 1/4 / sqrt(2), times sqrt(2/2).
    assert found["retrain", None, "class_drop_sd", "far"] == pytest.approx(0.25 / math.sqrt(2))
    assert found["retrain", None, "class_drop_sd", "near"] == 0


def test_one_seed_has_a_slope_without_an_interval(tmp_path):
    first = replace(
        NEIGHBOURS,
        seeds=np.array([3]),
        train_similarity=NEIGHBOURS.train_similarity[:1],
        test_similarity=NEIGHBOURS.test_similarity[:1],
        class_similarity=SIMILARITY[:1],
    )
    runs = {key: run for key, run in RUNS.items() if key[1] == 3}
    found = replace(CELL, neighbours=first, runs=runs).numbers(tmp_path)
    assert found["ga", None, "class_slope"] == pytest.approx(SLOPES[0], rel=1e-6)
    undefined = [("ga", "class_slope_low"), ("ga", "class_slope_high")]
    assert all(math.isnan(found[run, None, metric]) for run, metric in undefined)
    assert math.isnan(found["retrain", None, "class_drop_sd", "far"])


def test_a_diverged_seed_has_no_drop_and_no_part_in_the_slope(tmp_path):
    lost = replace(RUNS["ga", 5], status="diverged")
    found = replace(CELL, runs=RUNS | {("ga", 5): lost}).numbers(tmp_path)
    assert math.isnan(found["ga", 5, "class_drop", "near"])
    assert found["ga", None, "class_slope"] == pytest.approx(SLOPES[0], rel=1e-6)
    assert math.isnan(found["ga", None, "class_slope_low"])


def test_nothing_is_compared_with_a_diverged_retrain(tmp_path):
    lost = replace(RUNS["retrain", 5], status="diverged")
    found = replace(CELL, runs=RUNS | {("retrain", 5): lost}).numbers(tmp_path)
    assert math.isnan(found["ga", 5, "class_drop", "near"])
    assert found["ga", 3, "class_drop", "near"] == 0.5
    assert math.isnan(found["retrain", None, "class_drop_sd", "far"])  # one sound seed is left


def test_a_class_deleted_in_part_gives_no_numbers_by_class(tmp_path):
    found = replace(CELL, split=HALF).numbers(tmp_path)
    assert len(found) > 100
    assert not [key for key in found if key[2].startswith("class")]


def test_the_index_metrics_knows_the_numbers_by_class(found):
    names = [key[2] for key in found if key[2].startswith("class")]
    # By seed two similarities and three drops; of three classes the noise; the slope and its ends.
    assert len(names) == 2 * (2 + 3) + 3 + 3
    assert {find_metric(name).unit for name in names} == {"points", "cosine", "points per 0.1"}


def test_where_several_classes_are_deleted_the_rest_is_compared(tmp_path):
    both = Split(np.arange(4, 10), 10, (NEAR, GONE), {"kind": "classes_part"})
    part = Split(np.arange(5, 10), 10, (NEAR, GONE), {"kind": "classes_part"})
    assert other_classes(LABELS, both) == (FAR,)
    assert other_classes(LABELS, part) == ()  # one of them is only part gone
    found = replace(CELL, split=both).numbers(tmp_path)
    assert {key[3] for key in found if key[2] == "class_similarity"} == {"far"}

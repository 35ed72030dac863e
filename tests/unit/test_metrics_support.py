"""Histograms of the forget set and their divergence, worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from collateral.results.support_sizes import Diagnosis
from collateral.findings.catalogue import metric_of
from collateral.findings.support_size.numbers import (
    against_retrain,
    divergence,
    histogram,
    keep_top,
    support_floors,
    support_numbers,
)

LN2, LN3, LN7 = math.log(2), math.log(3), math.log(7)
# Two classes, one forgotten example, of the first: with the one that is added to it, a sure
# prediction is (3/4, 1/4) and an even one stays even.
SURE, OTHER, EVEN = [[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]
SURE_FROM_EVEN = 0.75 * LN3 - LN2
EVEN_FROM_SURE = LN2 - 0.5 * LN3
SURE_FROM_OTHER = 0.5 * LN3


def diagnosis(*soft, **changes) -> Diagnosis:
    count = len(soft)
    plain = Diagnosis(
        sizes=np.array([20, 50, 100][:count]),
        soft_labels=np.array(soft, dtype=np.float32),
        top=np.array(2),
        epochs=np.arange(1, count + 1),
        support_accuracy=np.full(count, 0.99),
        least_similarity=np.linspace(0.9, 0.5, count),
        num_classes=np.arange(1, count + 1),
        step_rate=np.array(0.25),
        step_edges=np.array([0.0, 0.5, 1.0]),
        step_counts=np.array([0, 7]),
        step_drop=np.array([np.nan, 0.4]),
        auto_size=np.array(7),
    )
    return replace(plain, **changes)


LABEL = np.array([0])


def test_only_the_largest_are_kept():
    rows = np.array([[0.4, 0.3, 0.2, 0.1], [0.0, 0.1, 0.9, 0.0]])
    assert keep_top(rows, 3).tolist() == [[0.4, 0.3, 0.2, 0.0], [0.0, 0.1, 0.9, 0.0]]
    assert keep_top(rows, 4).tolist() == keep_top(rows, 9).tolist() == rows.tolist()


def test_a_histogram_is_the_mean_of_what_is_kept_renormalised():
    rows = np.array([[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]])
    # (2/3, 1/3, 0, 0) and (0, 0, 1/3, 2/3)
    assert histogram(rows, 2) == pytest.approx([1 / 3, 1 / 6, 1 / 6, 1 / 3])
    assert histogram(rows, 1) == pytest.approx([0.5, 0, 0, 0.5])
    assert histogram(rows, 4) == pytest.approx([0.3, 0.2, 0.2, 0.3])


def test_a_divergence_is_from_the_first_to_the_second():
    sure, even = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    assert divergence(sure, even, 1) == pytest.approx(SURE_FROM_EVEN)
    assert divergence(even, sure, 1) == pytest.approx(EVEN_FROM_SURE)
    assert divergence(sure, sure, 1) == 0


def test_a_class_that_nobody_is_predicted_as_is_not_infinitely_far():
    # Of 3 examples and one more: (7/8, 1/8) against (1/8, 7/8).
    assert divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 3) == pytest.approx(0.75 * LN7)
    assert divergence(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 3) == pytest.approx(0.75 * LN7)


def test_the_added_example_fades_among_many():
    p, q = np.array([0.75, 0.25]), np.array([0.5, 0.5])
    assert divergence(p, q, 10**9) == pytest.approx(SURE_FROM_EVEN)


def test_every_size_is_held_against_the_next_smaller():
    numbers = support_numbers(diagnosis(SURE, EVEN, OTHER), LABEL)
    assert math.isnan(numbers["support_kl_previous:00020"])
    assert numbers["support_kl_previous:00050"] == pytest.approx(EVEN_FROM_SURE)
    assert numbers["support_kl_previous:00100"] == pytest.approx(SURE_FROM_EVEN)


def test_teachers_numbers_are_named_by_their_size():
    soft = [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]], [[0.9, 0.1, 0.0], [0.8, 0.0, 0.2]]
    numbers = support_numbers(diagnosis(*soft), np.array([0, 0]))
    assert [numbers[f"support_teacher_ua:{k}"] for k in ("00020", "00050")] == [0.5, 1]
    # Two of three classes: 0.8 and 0.9, then everything.
    assert numbers["support_top_mass:00020"] == pytest.approx(0.85)
    assert numbers["support_top_mass:00050"] == pytest.approx(1)
    assert [numbers[f"support_epochs:{k}"] for k in ("00020", "00050")] == [1, 2]
    assert [numbers[f"support_num_classes:{k}"] for k in ("00020", "00050")] == [1, 2]
    assert [numbers[f"support_least_similarity:{k}"] for k in ("00020", "00050")] == [0.9, 0.5]


def test_what_auto_measures_is_named_by_its_bin():
    numbers = support_numbers(diagnosis(SURE, EVEN), LABEL)
    assert math.isnan(numbers["support_drop:00"])
    assert numbers["support_drop:01"] == 0.4
    assert (numbers["support_bin_low:01"], numbers["support_bin_high:01"]) == (0.5, 1.0)
    assert numbers["support_bin_count:01"] == numbers["support_auto"] == 7
    assert numbers["support_step_rate"] == 0.25


def test_retrain_is_treated_as_the_teachers_are():
    retrained = np.array([[0.6, 0.3, 0.1]])  # (2/3, 1/3, 0) of two classes
    teachers = diagnosis([[0.6, 0.3, 0.1]], [[0.4, 0.2, 0.4]])
    numbers = against_retrain(teachers, retrained)
    assert numbers["support_kl_retrain:00020"] == pytest.approx(0, abs=1e-12)
    # (0.5, 0, 0.5) against (2/3, 1/3, 0), each with the example that is added.
    teacher, reference = np.array([5, 2, 5]) / 12, np.array([6, 4, 2]) / 12
    expected = float((teacher * np.log(teacher / reference)).sum())
    assert numbers["support_kl_retrain:00050"] == pytest.approx(expected)


def test_the_direction_is_from_the_teacher_to_retrain():
    numbers = against_retrain(diagnosis(SURE, EVEN), np.array(EVEN))
    assert numbers["support_kl_retrain:00020"] == pytest.approx(SURE_FROM_EVEN)
    assert numbers["support_kl_retrain:00050"] == pytest.approx(0, abs=1e-12)


def test_floors_are_means_over_pairs_of_seeds_in_both_orders():
    seeds = [diagnosis(SURE, EVEN), diagnosis(EVEN, EVEN), diagnosis(OTHER, EVEN)]
    numbers = support_floors(seeds, [np.array(p) for p in (SURE, OTHER)])
    pairs = 2 * SURE_FROM_EVEN + 2 * EVEN_FROM_SURE + 2 * SURE_FROM_OTHER
    assert numbers["support_floor:00020"] == pytest.approx(pairs / 6)
    assert numbers["support_floor:00050"] == pytest.approx(0, abs=1e-12)
    assert numbers["support_floor_retrain"] == pytest.approx(SURE_FROM_OTHER)


def test_one_seed_has_no_floor():
    numbers = support_floors([diagnosis(SURE, EVEN)], [np.array(SURE)])
    assert all(math.isnan(value) for value in numbers.values())


def test_a_teacher_or_a_retrain_that_diverged_gives_no_numbers():
    lost = [[math.nan, math.nan]]
    numbers = support_numbers(diagnosis(SURE, lost), LABEL)
    assert math.isnan(numbers["support_teacher_ua:00050"])
    assert math.isnan(numbers["support_kl_previous:00050"])
    assert numbers["support_teacher_ua:00020"] == 1
    assert math.isnan(against_retrain(diagnosis(SURE), np.array(lost))["support_kl_retrain:00020"])


def test_every_number_is_in_the_catalogue():
    one = diagnosis(SURE, EVEN)
    numbers = support_numbers(one, LABEL) | against_retrain(one, np.array(EVEN))
    numbers |= support_floors([one], [np.array(EVEN)])
    assert len({metric_of(name).label for name in numbers}) == 16
    assert metric_of("support_kl_retrain:00020").ideal == "low"


def test_a_file_gives_back_what_was_saved(tmp_path):
    written = diagnosis(SURE, EVEN)
    written.save(tmp_path / "diagnosis.npz")
    read = Diagnosis.load(tmp_path / "diagnosis.npz")
    for name, value in vars(written).items():
        np.testing.assert_array_equal(getattr(read, name), value)

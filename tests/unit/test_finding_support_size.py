"""Histograms of the forget set and their divergence, worked out by hand."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from collateral.contract.rows import Row
from collateral.findings.metric_index import is_known
from collateral.findings.support_size.numbers import bin_rows, retrain_rows, seed_rows, size_rows
from collateral.metrics.divergence import histogram, histogram_kl, keep_largest
from collateral.results.outputs import SupportSizes

LN2, LN3, LN7 = math.log(2), math.log(3), math.log(7)
# Two classes, one forgotten example, of the first: with the one that is added to it, a sure
# prediction is (3/4, 1/4) and an even one stays even.
SURE, OTHER, EVEN = [[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]
SURE_FROM_EVEN = 0.75 * LN3 - LN2
EVEN_FROM_SURE = LN2 - 0.5 * LN3
SURE_FROM_OTHER = 0.5 * LN3


def teachers(*soft, **changes) -> SupportSizes:
    count = len(soft)
    plain = SupportSizes(
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


def values(rows: Iterable[Row]) -> dict[object, float]:
    """Return the numbers of rows by metric, without `support_`, and index where there is one."""
    named = [(row.metric.removeprefix("support_"), row.at, row.value) for row in rows]
    return {name if at is None else (name, at): value for name, at, value in named}


def test_only_the_largest_are_kept():
    rows = np.array([[0.4, 0.3, 0.2, 0.1], [0.0, 0.1, 0.9, 0.0]])
    assert keep_largest(rows, 3).tolist() == [[0.4, 0.3, 0.2, 0.0], [0.0, 0.1, 0.9, 0.0]]
    assert keep_largest(rows, 4).tolist() == keep_largest(rows, 9).tolist() == rows.tolist()


def test_a_histogram_is_the_mean_of_what_is_kept_renormalised():
    rows = np.array([[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]])
    # (2/3, 1/3, 0, 0) and (0, 0, 1/3, 2/3)
    assert histogram(rows, 2) == pytest.approx([1 / 3, 1 / 6, 1 / 6, 1 / 3])
    assert histogram(rows, 1) == pytest.approx([0.5, 0, 0, 0.5])
    assert histogram(rows, 4) == pytest.approx([0.3, 0.2, 0.2, 0.3])


def test_a_divergence_is_from_the_first_to_the_second():
    sure, even = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    assert histogram_kl(sure, even, 1) == pytest.approx(SURE_FROM_EVEN)
    assert histogram_kl(even, sure, 1) == pytest.approx(EVEN_FROM_SURE)
    assert histogram_kl(sure, sure, 1) == 0


def test_a_class_that_nobody_is_predicted_as_is_not_infinitely_far():
    # Of 3 examples and one more: (7/8, 1/8) against (1/8, 7/8).
    assert histogram_kl(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 3) == pytest.approx(0.75 * LN7)
    assert histogram_kl(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 3) == pytest.approx(0.75 * LN7)


def test_the_added_example_fades_among_many():
    p, q = np.array([0.75, 0.25]), np.array([0.5, 0.5])
    assert histogram_kl(p, q, 10**9) == pytest.approx(SURE_FROM_EVEN)


def test_every_size_is_compared_with_the_next_smaller_one():
    numbers = values(size_rows("ltd", 0, teachers(SURE, EVEN, OTHER), LABEL))
    assert math.isnan(numbers["kl_previous", 20])
    assert numbers["kl_previous", 50] == pytest.approx(EVEN_FROM_SURE)
    assert numbers["kl_previous", 100] == pytest.approx(SURE_FROM_EVEN)


def test_teachers_numbers_are_at_their_size():
    soft = [[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]], [[0.9, 0.1, 0.0], [0.8, 0.0, 0.2]]
    numbers = values(size_rows("ltd", 0, teachers(*soft), np.array([0, 0])))
    assert [numbers["teacher_ua", k] for k in (20, 50)] == [0.5, 1]
    # Two of three classes: 0.8 and 0.9, then everything.
    assert [numbers["top_mass", k] for k in (20, 50)] == pytest.approx([0.85, 1])
    assert [numbers["epochs", k] for k in (20, 50)] == [1, 2]
    assert [numbers["accuracy", k] for k in (20, 50)] == [0.99, 0.99]
    assert [numbers["num_classes", k] for k in (20, 50)] == [1, 2]
    assert [numbers["least_similarity", k] for k in (20, 50)] == [0.9, 0.5]


def test_rows_say_whose_they_are():
    rows = [*size_rows("mine", 7, teachers(SURE), LABEL), *bin_rows("mine", 7, teachers(SURE))]
    assert {(row.run, row.seed) for row in rows} == {("mine", 7)}


def test_what_auto_measures_is_at_its_bin():
    numbers = values(bin_rows("ltd", 0, teachers(SURE, EVEN)))
    assert math.isnan(numbers["drop", 0])
    assert numbers["drop", 1] == 0.4
    assert (numbers["bin_low", 1], numbers["bin_high", 1]) == (0.5, 1.0)
    assert (numbers["bin_count", 0], numbers["bin_count", 1]) == (0, 7)
    assert (numbers["auto"], numbers["step_rate"]) == (7, 0.25)


def test_retrain_is_treated_as_the_teachers_are():
    retrained = np.array([[0.6, 0.3, 0.1]])  # (2/3, 1/3, 0) of two classes
    found = teachers([[0.6, 0.3, 0.1]], [[0.4, 0.2, 0.4]])
    numbers = values(retrain_rows("ltd", 0, found, retrained))
    assert numbers["kl_retrain", 20] == pytest.approx(0, abs=1e-12)
    # (0.5, 0, 0.5) against (2/3, 1/3, 0), each with the example that is added.
    teacher, reference = np.array([5, 2, 5]) / 12, np.array([6, 4, 2]) / 12
    expected = float((teacher * np.log(teacher / reference)).sum())
    assert numbers["kl_retrain", 50] == pytest.approx(expected)


def test_the_direction_is_from_the_teacher_to_retrain():
    numbers = values(retrain_rows("ltd", 0, teachers(SURE, EVEN), np.array(EVEN)))
    assert numbers["kl_retrain", 20] == pytest.approx(SURE_FROM_EVEN)
    assert numbers["kl_retrain", 50] == pytest.approx(0, abs=1e-12)


def test_between_seeds_is_the_mean_over_pairs_in_both_orders():
    seeds = [teachers(SURE, EVEN), teachers(EVEN, EVEN), teachers(OTHER, EVEN)]
    rows = list(seed_rows("ltd", seeds, [np.array(p) for p in (SURE, OTHER)]))
    numbers = values(rows)
    pairs = 2 * SURE_FROM_EVEN + 2 * EVEN_FROM_SURE + 2 * SURE_FROM_OTHER
    assert numbers["kl_seeds", 20] == pytest.approx(pairs / 6)
    assert numbers["kl_seeds", 50] == pytest.approx(0, abs=1e-12)
    assert numbers["kl_retrains"] == pytest.approx(SURE_FROM_OTHER)
    assert {row.seed for row in rows} == {None}


def test_one_seed_has_no_distance():
    numbers = values(seed_rows("ltd", [teachers(SURE, EVEN)], [np.array(SURE)]))
    assert len(numbers) == 3
    assert all(math.isnan(value) for value in numbers.values())


def test_a_teacher_or_a_retrain_that_diverged_gives_no_numbers():
    lost = [[math.nan, math.nan]]
    numbers = values(size_rows("ltd", 0, teachers(SURE, lost), LABEL))
    assert math.isnan(numbers["teacher_ua", 50])
    assert math.isnan(numbers["kl_previous", 50])
    assert numbers["teacher_ua", 20] == 1
    against = values(retrain_rows("ltd", 0, teachers(SURE), np.array(lost)))
    assert math.isnan(against["kl_retrain", 20])


def test_every_number_is_in_the_index_metrics():
    one, even = teachers(SURE, EVEN), np.array(EVEN)
    rows = [
        *size_rows("ltd", 0, one, LABEL),
        *bin_rows("ltd", 0, one),
        *retrain_rows("ltd", 0, one, even),
        *seed_rows("ltd", [one], [even]),
    ]
    names = {row.metric for row in rows}
    assert len(names) == 16
    assert all(map(is_known, names))


def test_a_file_gives_back_what_was_saved(tmp_path):
    written = teachers(SURE, EVEN)
    written.save(tmp_path / "support_sizes.npz")
    read = SupportSizes.load(tmp_path / "support_sizes.npz")
    for name, value in vars(written).items():
        np.testing.assert_array_equal(getattr(read, name), value)

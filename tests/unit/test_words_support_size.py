"""Support sizes as tables, figures and words read them, and what the words say of `k: auto`."""

import numpy as np
import pytest
from fake_results import FakeCell, full_cell, read_cell, supports_cell

from collateral.contract.rows import At
from collateral.findings.support_size.views import Step, Supports, find_supports, words


@pytest.fixture
def cell_of(tmp_path):
    def build(fake: FakeCell | None = None):
        return read_cell(tmp_path, fake or supports_cell())

    return build


@pytest.fixture
def supports(cell_of) -> Supports:
    found = find_supports(cell_of())
    assert found is not None
    return found


def changed(changes: dict[tuple[str, At], tuple[float, ...]]) -> FakeCell:
    """Return the cell with other values of FT's numbers, by metric and place, one a seed."""
    fake = supports_cell()
    for (metric, at), values in changes.items():
        place = "" if at is None else str(at)
        kept = [row for row in fake.metrics if (row["metric"], row["at"]) != (metric, place)]
        assert len(kept) == len(fake.metrics) - len(values)
        fake.metrics = kept
        fake.add("ft", metric, *values, at=at)
    return fake


def step(drop: list[float], counts: list[int], auto: int) -> Step:
    assert len(drop) == len(counts) == 10
    return Step(0, 0.5, auto, np.array(drop), np.linspace(0, 0.9, 10), np.array(counts))


# Reading


def test_a_cell_without_teachers_has_none(cell_of):
    cell = cell_of(full_cell())
    assert find_supports(cell) is None
    assert words(cell) == ""


def test_sizes_are_in_order_and_values_by_size_and_seed(supports):
    assert (supports.run, supports.label, supports.sizes) == ("ft", "FT", (20, 50, 80))
    assert supports.values("teacher_ua") == pytest.approx(
        np.array([[1, 1.001, 1.002], [0.8, 0.801, 0.802], [0.7, 0.701, 0.702]])
    )
    assert supports.floors == pytest.approx([0.05] * 3)
    assert supports.auto.tolist() == [60] * 3
    assert supports.own.tolist() == [50] * 3


def test_what_auto_takes_is_counted_in_bins_from_the_top(supports):
    assert [s.num_included for s in supports.steps] == [2, 2, 2]
    assert supports.steps[0].least_similarity == 0.8
    empty = step([0.0] * 7 + [0.4, np.nan, 0.4], [5, 5, 5, 5, 5, 5, 5, 7, 0, 9], auto=16)
    assert empty.num_included == 3
    assert empty.least_similarity == pytest.approx(0.7)


def test_the_largest_loss_may_be_in_another_bin_than_the_top():
    small = step([0.0] * 8 + [1.0, 0.4], [5] * 8 + [1, 50], auto=50)
    assert small.largest == 8
    assert small.top_is_short
    assert not step([0.0] * 8 + [0.7, 0.4], [5] * 10, auto=10).top_is_short


# In words


def test_the_words_say_what_auto_takes_and_why(cell_of):
    text = words(cell_of())
    assert text.startswith("k: auto takes 60 examples. One step of gradient ascent")
    assert "(here 0.25)" in text
    assert "it cost it 40.0 to 40.2. From that bin down" in text
    assert "here those from similarity 0.80 up." in text
    assert "A support of 20 or fewer is of one class in every seed." in text
    assert "seeds" not in text


def test_the_words_say_where_the_top_bin_was_taken_for_want_of_a_better(cell_of):
    # In the last two seeds a bin further down loses everything.
    fake = changed({("support_drop", 7): (0.0, 1.0, 1.0), ("support_auto", None): (60, 30, 30)})
    text = words(cell_of(fake))
    assert text.startswith("k: auto takes 30 to 60 examples")
    assert "from similarity 0.80 to 0.90 up" in text
    assert "In seeds 1, 2 another bin loses more than twice as much as the most similar" in text


def test_the_words_say_where_no_rate_was_enough(cell_of):
    fake = changed({("support_drop", 9): (0.4, 0.04, 0.4), ("support_drop", 8): (0.3, 0.04, 0.3)})
    text = words(cell_of(fake))
    assert "In seed 1 no rate of the series costs it 5 points" in text


def test_no_support_of_one_class_is_no_words(cell_of):
    fake = changed({("support_num_classes", 20): (1, 1, 2)})
    assert "one class" not in words(cell_of(fake))

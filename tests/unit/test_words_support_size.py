"""Support sizes as tables, figures and words read them, and what the words say of `k: auto`."""

import numpy as np
import pytest
from fake_results import FakeCell, full_cell, read_cell, supports_cell

from collateral.contract.rows import At
from collateral.findings.support_size.views import (
    Supports,
    find_steps,
    find_supports,
    words,
)


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


# Reading


def test_a_cell_without_teachers_has_none(cell_of):
    cell = cell_of(full_cell())
    assert find_supports(cell) is None
    assert words(cell) == ""


def test_sizes_are_in_order_and_values_by_size_and_seed(supports):
    assert (supports.run, supports.sizes) == ("ft", (20, 50, 80))
    assert supports.values("teacher_ua") == pytest.approx(
        np.array([[1, 1.001, 1.002], [0.8, 0.801, 0.802], [0.7, 0.701, 0.702]])
    )
    assert supports.by_seed("auto").tolist() == [60] * 3


def test_what_auto_takes_is_counted_in_bins_from_the_top(supports, cell_of):
    steps = find_steps(supports)
    assert steps["num_bins"].tolist() == [2, 2, 2]
    assert steps["least_similarity"].tolist() == [0.8, 0.801, 0.802]
    empty = {("support_bin_count", 8): (30, 0, 0), ("support_auto", None): (60, 60, 30)}
    steps = find_steps(find_supports(cell_of(changed(empty))))
    assert steps["num_bins"].tolist() == [2, 3, 1]
    assert steps["least_similarity"].tolist() == pytest.approx([0.8, 0.701, 0.902])


def test_the_largest_loss_may_be_in_another_bin_than_the_top(cell_of):
    fake = changed({("support_drop", 7): (0.0, 1.0, 0.7)})
    steps = find_steps(find_supports(cell_of(fake)))
    assert steps["worst"].tolist() == [9, 7, 7]
    assert steps["largest_drop"].tolist() == pytest.approx([0.4, 1.0, 0.7])


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

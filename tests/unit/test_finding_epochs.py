"""What a tracked run says after every epoch, from answers that are made up."""

import numpy as np
import pytest
from fake_cell import BASE, FIRST, LOST, SECOND
from fake_cell import tracked as cell

from collateral.findings.membership import numbers as module
from collateral.findings.registry import cell_numbers, with_part
from collateral.results.row_cache import RowCache


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return cell(BASE, FIRST, SECOND).numbers(tmp_path_factory.mktemp("cell"), tracked=("ft",))


def test_losses_near_and_far_are_retrains_accuracy_minus_the_epochs(numbers):
    near = [numbers["ft", 0, "epoch_near_loss", "retain", epoch] for epoch in range(3)]
    far = [numbers["ft", 0, "epoch_far_loss", "retain", epoch] for epoch in range(3)]
    assert near == pytest.approx([-2 / 20, 8 / 20, 2 / 20])  # of 20 near ones
    assert far == pytest.approx([-1 / 50, 4 / 50, 4 / 50])
    assert [numbers["ft", 0, "epoch_near_loss", "test", epoch] for epoch in range(3)] == [0] * 3


def test_the_membership_score_is_the_one_of_the_table_after_each_epoch(numbers):
    """Members are sure and the test set is not: what lies below the middle is unseen."""
    assert [numbers["ft", 0, "epoch_mia", epoch] for epoch in range(3)] == [0, 1, 1]


def test_the_last_epoch_has_the_runs_own_numbers(numbers):
    for name, at in (("mia", ()), ("near_loss", ("retain",)), ("far_loss", ("test",))):
        assert numbers["ft", 0, f"epoch_{name}", *at, 2] == numbers["ft", 0, name, *at]


def test_seconds_are_those_by_then(numbers):
    assert [numbers["ft", 0, "epoch_seconds", epoch] for epoch in range(3)] == [0, 1, 2]


def test_a_run_that_is_not_tracked_has_no_epochs(numbers):
    assert not any(key[0] != "ft" and key[2].startswith("epoch_") for key in numbers)


def test_an_epoch_that_diverged_is_undefined_and_those_before_are_not(tmp_path):
    found = cell(BASE, LOST).numbers(tmp_path, tracked=("ft",))
    for name, at in (("epoch_mia", ()), ("epoch_near_loss", ("retain",))):
        assert np.isfinite(found["ft", 0, name, *at, 0])
        assert np.isnan(found["ft", 0, name, *at, 1])


def test_scores_of_epochs_are_kept_until_the_run_changes(tmp_path, monkeypatch):
    """Numbers of single runs are not computed again."""
    made = cell(BASE, FIRST).write(tmp_path, tracked=("ft",))
    kept = RowCache(made, dict.fromkeys(with_part("numbers"), "code"))
    first, _ = cell_numbers(made, kept)
    monkeypatch.setattr(module, "confidence_attack", lambda *_: pytest.fail("computed again"))
    again, problems = cell_numbers(cell(BASE, FIRST).write(tmp_path, tracked=("ft",)), kept)
    assert problems == []
    assert [row.metric for row in again] == [row.metric for row in first]

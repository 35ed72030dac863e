"""Where tracked runs are after every epoch, and what they have within a budget, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from fake_cell import BASE, FIRST, LOST, SECOND
from fake_cell import tracked as cell
from fake_cell import tracked_model as model
from sealing import seal

from collateral.findings.registry import cell_numbers
from collateral.findings.trajectory.numbers import distance_from_retrain, latest_epoch
from collateral.results.files import read_json, write_json

RETRAINED = {
    name: np.array([0.25, 0.75])
    for name in ("ua", "ra", "ta", "mia", "ua_affected", "ra_affected", "ta_affected")
}


def at(**changes: list[float]) -> dict[str, np.ndarray]:
    """Return a model of two seeds that is as Retrain but for some numbers."""
    changed = {name: np.array(values) for name, values in changes.items()}
    return {**RETRAINED, "damage": np.zeros(2), **changed}


def test_retrain_itself_is_at_the_origin():
    found = distance_from_retrain(at(), RETRAINED)
    assert found == dict.fromkeys(
        ("avg_gap", "avg_gap_affected", "forgetting_error", "damage"), 0.0
    )


def test_the_forgetting_error_is_of_means_and_knows_ua_and_mia_alone():
    found = distance_from_retrain(at(ua=[1.0, 1.0], mia=[0.0, 0.6], ra=[0.0, 0.0]), RETRAINED)
    assert found["forgetting_error"] == pytest.approx((0.5 + 0.2) / 2)
    assert found["avg_gap"] == pytest.approx((0.5 + 0.2 + 0.5) / 4)
    assert distance_from_retrain(at(ua=[0.75, 0.25]), RETRAINED)["forgetting_error"] == 0


def test_without_mia_the_forgetting_error_is_of_ua_alone():
    found = distance_from_retrain(at(ua=[1.0, 1.0], mia=[np.nan, np.nan]), RETRAINED)
    assert found["forgetting_error"] == pytest.approx(0.5)


def test_the_affected_gap_is_that_of_the_tables():
    found = distance_from_retrain(at(ua_affected=[1.0, 1.0], ta_affected=[0.4, 0.4]), RETRAINED)
    assert found["avg_gap_affected"] == pytest.approx((0.5 + 0.1) / 3)


def test_a_seed_without_numbers_leaves_none():
    nothing = [np.nan, 0.5]
    lost = {name: nothing for name in RETRAINED}
    assert all(
        np.isnan(value)
        for value in distance_from_retrain(at(**lost, damage=nothing), RETRAINED).values()
    )


def test_the_latest_epoch_in_time_is_of_the_mean_over_seeds_and_the_base_is_none():
    course = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 6.0]])
    found = [latest_epoch(course, seconds) for seconds in (0.0, 1.9, 2.0, 3.9, 4.0, 99.0)]
    assert found == [0, 0, 1, 1, 2, 2]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    made = cell(BASE, FIRST, SECOND, seeds=(0, 1))
    return made.numbers(tmp_path_factory.mktemp("cell"), tracked=("ft",))


def test_damage_is_near_minus_far_on_retained_examples(numbers):
    found = [numbers["ft", None, "epoch_damage", epoch] for epoch in range(3)]
    assert found == pytest.approx([-2 / 20 + 1 / 50, 8 / 20 - 4 / 50, 2 / 20 - 4 / 50])


def test_numbers_of_runs_that_are_not_tracked_are_none(numbers):
    runs = {key[0] for key in numbers if key[2].startswith(("epoch_", "budget_"))}
    assert runs == {"ft"}


def test_within_a_budget_is_the_latest_model_and_none_before_the_first(numbers):
    """Retrain takes 1.5 s, and an epoch one: 20 % of it are no epoch."""
    assert np.isnan(numbers["ft", None, "budget_gap", 20])
    assert np.isnan(numbers["ft", None, "budget_epoch", 20])


def test_a_quick_run_is_at_its_end_within_any_budget(tmp_path, monkeypatch):
    monkeypatch.setattr("fake_cell.COST", FAST)
    found = cell(BASE, FIRST, SECOND).numbers(tmp_path, tracked=("ft",))
    gaps = [found["ft", None, "epoch_avg_gap", epoch] for epoch in range(3)]
    within = {share: found["ft", None, "budget_epoch", share] for share in (1, 2, 5, 10, 20)}
    assert within == pytest.approx({1: 1, 2: 2, 5: 2, 10: 2, 20: 2})  # of 100 s, one an epoch
    assert found["ft", None, "budget_gap", 1] == gaps[1]
    assert found["ft", None, "budget_gap", 20] == gaps[2]


def test_seconds_of_another_device_are_within_no_budget(tmp_path, monkeypatch):
    monkeypatch.setattr("fake_cell.COST", FAST)
    results = cell(BASE, FIRST, SECOND).write(tmp_path, tracked=("ft",))
    place = tmp_path / "cell" / "seed-0" / "ft"
    write_json(place / "cost.json", read_json(place / "cost.json") | {"device": "cuda"})
    seal(tmp_path)
    rows, problems = cell_numbers(results)
    found = [row.value for row in rows if row.metric.startswith("budget_")]
    assert problems == [] and len(found) == 10 and np.isnan(found).all()


FAST = {
    "seconds": {"unlearn": 100.0},
    "total_seconds": 100.0,
    "peak_rss_mb": 300,
    "peak_device_mb": None,
}


def test_a_seed_that_ended_early_stays_where_it_was(tmp_path):
    made = cell(BASE, FIRST, SECOND, seeds=(0, 1))
    short = replace(made.runs["ft", 1], epochs=(BASE, FIRST))
    found = replace(made, runs={**made.runs, ("ft", 1): short}).numbers(tmp_path, tracked=("ft",))
    means = [found["ft", None, "epoch_damage", epoch] for epoch in range(3)]
    first, second = 8 / 20 - 4 / 50, 2 / 20 - 4 / 50
    assert means == pytest.approx([-2 / 20 + 1 / 50, first, (first + second) / 2])


def test_an_epoch_that_diverged_is_nowhere(tmp_path):
    found = cell(BASE, LOST).numbers(tmp_path, tracked=("ft",))
    assert np.isfinite(found["ft", None, "epoch_damage", 0])
    assert np.isnan(found["ft", None, "epoch_damage", 1])


def test_the_noise_of_damage_is_that_between_retrainings(tmp_path):
    made = cell(BASE, FIRST, seeds=(0, 1))
    # Against 2 and 1 of the first seed: 4 of 20 near ones more.
    other = replace(made.runs["retrain", 1], train=model(6, 1).train)
    made = replace(made, runs={**made.runs, ("retrain", 1): other})
    found = made.numbers(tmp_path, tracked=("ft",))
    assert found["retrain", None, "damage_sd", "retain"] == pytest.approx(4 / 20 / np.sqrt(2))

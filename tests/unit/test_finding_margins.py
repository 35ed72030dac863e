"""KLOM: Gaussians in closed form, halves of seeds, and nothing where the laws are the same."""

import math

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun
from fake_results import FakeCell as FakeTable
from fake_results import read_cell
from table_reading import texts_of

from collateral.findings.klom.views import tables
from collateral.metrics.margins import (
    fit_gaussians,
    gaussian_kl,
    margins,
    mean_variance,
    memorisation,
    seed_halves,
)
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Outputs
from collateral.results.split import Split

# 100 training and 100 test examples; ten are forgotten, and those after them are the nearest.
N = 100
LABELS = Labels(np.zeros(N, np.int64), np.zeros(N, np.int64), ("a", "b"))
SPLIT = Split(np.arange(10), N, (0,), {"class": "a", "fraction": 0.1})
NO_SHIFT = np.zeros(N)


def run(
    seed: int, shift: np.ndarray = NO_SHIFT, spread: float = 1.0, status: str = "ok"
) -> FakeRun:
    """Make a run whose margins are normal of mean 2, and more by `shift` on the train set."""
    rng = np.random.default_rng([7, seed])
    train, test = 2 + shift + spread * rng.normal(size=N), 2 + spread * rng.normal(size=N)
    return FakeRun(outputs(train), outputs(test), status)


def outputs(margin: np.ndarray) -> Outputs:
    p = 1 / (1 + np.exp(-margin))
    logits = np.column_stack([margin, np.zeros(N)]).astype(np.float16)
    return Outputs(logits, p.astype(np.float32), (margin < 0).astype(np.int64))


def cell_of(num_seeds: int, split: Split = SPLIT, **runs: list[FakeRun]) -> FakeCell:
    nothing = np.array([], dtype=np.int64)
    similarity = np.tile(np.linspace(1, 0, N), (num_seeds, 1)).astype(np.float32)
    neighbours = Neighbours(
        seeds=np.arange(num_seeds),
        train_similarity=similarity,
        test_similarity=similarity,
        class_similarity=np.ones((num_seeds, 2), np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing,
    )
    made = {(name, seed): of[seed] for name, of in runs.items() for seed in range(num_seeds)}
    return FakeCell(LABELS, split, neighbours, made)


def retrained(num_seeds: int) -> list[FakeRun]:
    return [run(seed) for seed in range(num_seeds)]


def others(num_seeds: int, shift: np.ndarray = NO_SHIFT, spread: float = 1.0) -> list[FakeRun]:
    return [run(100 + seed, shift, spread) for seed in range(num_seeds)]


def test_a_gaussian_from_another_is_as_worked_out_by_hand():
    # ln(2/1) + (1 + 3 ** 2) / (2 * 4) - 1/2.
    found = gaussian_kl(*(np.array([x]) for x in (3.0, 1.0, 0.0, 4.0)))
    assert found == pytest.approx([math.log(2) + 10 / 8 - 0.5])
    assert gaussian_kl(*(np.array([x]) for x in (3.0, 2.0, 3.0, 2.0))) == [0]


def test_a_margin_is_the_true_logit_minus_the_log_sum_exp_of_the_others():
    logits = np.array([3.0, 1.0, 2.0])
    expected = logits - np.log([np.exp(np.delete(logits, i)).sum() for i in range(3)])
    found = margins(np.tile(logits, (3, 1)).astype(np.float16), np.arange(3))
    assert found == pytest.approx(expected, rel=1e-6)


def test_a_margin_has_no_cap():
    # The float32 probability of the true class is 1 in the first two rows and 0 in the last.
    logits = np.array([[20, 0], [40, 0], [-6e4, 6e4]], np.float16)
    assert margins(logits, np.zeros(3, np.int64)).tolist() == [20, 40, -120_000]


def test_memorisation_is_the_mean_of_models_that_saw_an_example_minus_that_of_the_others():
    is_in = np.array([[True, True, False], [True, True, False], [False, True, False]])
    values = np.array([[1.0, 0.5, 0.5], [0.8, 0.5, 0.5], [0.3, 0.5, 0.5]])
    # Every model saw the second example, and no model the third.
    found = memorisation(is_in, values)
    assert found == pytest.approx([0.9 - 0.3, np.nan, np.nan], nan_ok=True)


def test_halves_are_disjoint_and_go_round_the_seeds():
    assert seed_halves(2) == [([0], [1]), ([1], [0])]
    assert seed_halves(5)[:2] == [([0, 1], [2, 3]), ([1, 2], [3, 4])]
    for total in range(2, 9):
        found = seed_halves(total)
        assert len(found) == total
        for one, other in found:
            assert len(one) == len(other) == total // 2 == len({*one, *other}) / 2
        for side in zip(*found, strict=True):  # every seed is as often in either
            assert np.bincount(np.concatenate(side)).tolist() == [total // 2] * total


def test_a_variance_is_drawn_towards_the_sets_mean():
    some = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])  # variances 4 and 0
    assert mean_variance(some) == 2
    mean, variance = fit_gaussians(some[:2], 2)
    assert mean.tolist() == [1, 1]
    assert variance == pytest.approx([(2 + 4 * 2) / 5, 4 * 2 / 5])
    assert fit_gaussians(some[2:], 2)[1] == pytest.approx([2, 2])  # of one seed nothing is known


def test_two_seeds_are_as_worked_out_by_hand(tmp_path):
    numbers = cell_of(2, retrain=retrained(2), ft=others(2)).numbers(tmp_path)
    own, reference = (
        np.array([margins(made.test.logits, LABELS.test) for made in runs])
        for runs in (others(2), retrained(2))
    )
    variance, of = (x.var(axis=0, ddof=1).mean() for x in (own, reference))
    crossed = np.mean((own - reference[::-1]) ** 2)
    expected = (variance / of - 1 - math.log(variance / of) + crossed / of) / 2
    floor = np.mean((reference[0] - reference[1]) ** 2) / of / 2
    assert numbers["retrain", None, "klom_retrain", "test"] == pytest.approx(floor)
    assert numbers["ft", None, "klom", "test"] == pytest.approx(expected - floor)


@pytest.mark.parametrize("num_seeds", [2, 3, 5, 12])
def test_the_same_law_is_zero_and_chance_alone_is_not(tmp_path, num_seeds):
    runs = {"retrain": retrained(num_seeds), "ft": others(num_seeds)}
    numbers = cell_of(num_seeds, **runs).numbers(tmp_path)
    floor, found = (
        numbers[name, None, metric, "test"]
        for name, metric in (("retrain", "klom_retrain"), ("ft", "klom"))
    )
    assert floor > 0.08
    assert abs(found) < floor / 3


def test_a_shift_near_the_forget_set_raises_klom_only_there(tmp_path):
    shift = np.zeros(N)
    shift[10:32] = -3.0
    numbers = cell_of(4, retrain=retrained(4), ft=others(4, shift)).numbers(tmp_path)
    near, far = (numbers["ft", None, "klom", "retain", part] for part in ("near", "far"))
    assert near > 2 and abs(far) < 0.3
    assert abs(numbers["ft", None, "klom", "test"]) < 0.3
    # Of 90 retained ones, which are all of the affected class, a quarter is near.
    assert numbers["retrain", None, "near_count", "retain"] == 22
    assert numbers["ft", None, "klom", "retain"] == pytest.approx((near * 22 + far * 68) / 90)


def test_another_spread_is_another_law(tmp_path):
    numbers = cell_of(4, retrain=retrained(4), ft=others(4, spread=4.0)).numbers(tmp_path)
    assert numbers["ft", None, "klom", "test"] > 3


def test_with_one_seed_nothing_is_defined(tmp_path):
    numbers = cell_of(1, retrain=retrained(1), ft=others(1)).numbers(tmp_path)
    found = [value for key, value in numbers.items() if key[2].startswith("klom")]
    assert len(found) == 14
    assert all(map(math.isnan, found))


def test_a_run_that_diverged_in_one_seed_has_none(tmp_path):
    lost = [*others(3)[:2], run(102, status="diverged")]
    numbers = cell_of(3, retrain=retrained(3), ft=lost, ga=others(3)).numbers(tmp_path)
    assert math.isnan(numbers["ft", None, "klom", "forget"])
    assert not math.isnan(numbers["ga", None, "klom", "forget"])


def test_seeds_whose_retrain_diverged_are_left_out(tmp_path):
    lost = [*retrained(2), run(2, status="diverged")]
    numbers = cell_of(3, retrain=lost, ft=others(3)).numbers(tmp_path / "three")
    two = cell_of(2, retrain=retrained(2), ft=others(2)).numbers(tmp_path / "two")
    key = ("ft", None, "klom", "test")
    assert numbers[key] == two[key]


def test_a_run_without_spread_has_none(tmp_path):
    same = [run(100)] * 3
    numbers = cell_of(3, retrain=retrained(3), ft=same).numbers(tmp_path)
    assert math.isnan(numbers["ft", None, "klom", "test"])


def test_all_but_one_may_be_forgotten(tmp_path):
    whole = Split(np.arange(N - 1), N, (0,), {"class": "a", "fraction": 1.0})
    numbers = cell_of(2, whole, retrain=retrained(2), ft=others(2)).numbers(tmp_path)
    assert not math.isnan(numbers["ft", None, "klom", "forget"])


def test_without_a_method_there_is_retrains_own(tmp_path):
    numbers = cell_of(2, retrain=retrained(2)).numbers(tmp_path)
    assert numbers["retrain", None, "klom_retrain", "retain", "near"] > 0


def table_cell(num_seeds: int) -> FakeTable:
    cell = FakeTable()
    cell.add("retrain", "ua", *[0.5] * num_seeds)
    cell.add("ft", "ua", *[0.5] * num_seeds)
    parts = {"forget": ("",), "retain": ("", "near", "far"), "test": ("", "near", "far")}
    for name, of in parts.items():
        for part in of:
            value = {"near": 1.5, "far": -0.01}.get(part, 0.25) if num_seeds > 1 else math.nan
            cell.add_overall("ft", "klom", value, name, part or None)
            cell.add_overall("retrain", "klom_retrain", 0.5 * value, name, part or None)
    return cell


def test_the_table_shows_what_was_subtracted(tmp_path):
    [table] = tables(read_cell(tmp_path, table_cell(5)))
    texts = texts_of(table.grids[0])
    assert texts["FT"] == ["0.25", "1.50", "−0.01", "1.50", "−0.01"]
    assert texts["Retrain vs. Retrain, subtracted"][0] == "0.12"
    assert "n = 5 seeds, of which 2 for each distribution" in table.caption
    assert len(table.records) == 2 * 7


def test_with_one_seed_the_table_says_why_it_is_empty(tmp_path):
    [table] = tables(read_cell(tmp_path, table_cell(1)))
    assert texts_of(table.grids[0]) == {"FT": ["–"] * 5}
    assert "One seed has no distribution" in table.caption

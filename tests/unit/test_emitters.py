"""Statistics of an atlas: the test that keeps its level, entries, asymmetry, the order."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from collateral.metrics import emitters
from collateral.metrics.association import Neighborhood, Ranked, rank_correlation

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import atlas_level

SIMILARITY = np.array(
    [(1, 0.9, 0.2, 0.1), (0.9, 1, 0.3, 0.2), (0.2, 0.3, 1, 0.8), (0.1, 0.2, 0.8, 1)]
)
DAMAGE = np.array([(0, 8, 1, 0), (6, 0, 2, 1), (1, 1, 0, 7), (0, 1, 9, 0)], dtype=float)


def stack(matrix: np.ndarray, noise: float = 0.0, seeds: int = 5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return matrix[..., None] + noise * rng.normal(size=(*matrix.shape, seeds))


def test_correlation_and_slope_of_the_toy():
    assert emitters.partial_correlation(DAMAGE, SIMILARITY) == pytest.approx(0.990006, abs=1e-6)
    assert emitters.similarity_slope(DAMAGE, SIMILARITY) == pytest.approx(10.192308, abs=1e-6)


def test_all_24_permutations_of_four_classes_are_counted():
    p = emitters.permutation_p(DAMAGE, SIMILARITY, np.random.default_rng(0))
    assert p == 8 / 24


def test_rank_correlation_and_mantel_of_the_toy():
    used = emitters.off_diagonal(4)
    similarity, damage = (Ranked.of(matrix[used]) for matrix in (SIMILARITY, DAMAGE))
    everyone = np.ones(12, bool)
    pairs = Neighborhood.whole(similarity, everyone, ~everyone)
    assert rank_correlation(pairs.summands(damage).sum(axis=0)) == pytest.approx(0.923728, abs=1e-6)
    # Besides the identity, only the permutation that exchanges both pairs correlates as much.
    assert atlas_level.mantel_p(DAMAGE, SIMILARITY, np.random.default_rng(0)) == 2 / 24


def test_habits_are_those_of_least_squares_on_all_but_the_diagonal():
    matrix = np.random.default_rng(4).normal(size=(6, 6))
    used = emitters.off_diagonal(6)
    row, column = np.nonzero(used)
    design = np.zeros((30, 12))
    design[range(30), row] = design[range(30), 6 + column] = 1
    fit = design @ np.linalg.lstsq(design, matrix[used], rcond=None)[0]
    assert emitters.subtract_habits(matrix)[used] == pytest.approx(matrix[used] - fit)
    matrix[np.diag_indices(6)] = 1e9
    assert emitters.subtract_habits(matrix)[used] == pytest.approx(matrix[used] - fit)


def test_the_slope_does_not_change_with_habits():
    rng = np.random.default_rng(1)
    habits = rng.normal(size=(4, 1)) + rng.normal(size=(1, 4))
    found = emitters.similarity_slope(DAMAGE + habits, SIMILARITY)
    assert found == pytest.approx(10.192308, abs=1e-6)


def test_where_hubs_are_easily_hurt_plain_permutation_errs_and_ours_does_not(monkeypatch):
    monkeypatch.setattr(emitters, "NUM_PERMUTATIONS", 499)
    rng = np.random.default_rng(11)
    own = plain = 0
    for _ in range(40):
        damage, similarity = atlas_level.make_world(10, 0.0, rng, has_hubs=True)
        mean = damage.mean(axis=-1)
        own += emitters.permutation_p(mean, similarity, rng) < 0.05
        plain += atlas_level.mantel_p(mean, similarity, rng, 199) < 0.05
    # Of 40 tests that keep 5 %, more than six reject in three of a thousand cases.
    assert own <= 6
    assert plain >= 10


def test_a_real_slope_is_found_among_hubs(monkeypatch):
    monkeypatch.setattr(emitters, "NUM_PERMUTATIONS", 499)
    rng = np.random.default_rng(12)
    found = 0
    for _ in range(10):
        damage, similarity = atlas_level.make_world(10, 0.1, rng, has_hubs=True)
        stacked = np.repeat(similarity[..., None], damage.shape[-1], axis=-1)
        found += emitters.find_slope(damage, stacked, rng).p < 0.05
    assert found >= 8


def test_nothing_is_tested_below_five_classes_or_with_a_gap():
    rng = np.random.default_rng(0)
    assert np.isnan(emitters.find_slope(stack(DAMAGE), stack(SIMILARITY), rng).p)
    damage, similarity = (rng.random((6, 6, 3)) for _ in range(2))
    assert not np.isnan(emitters.find_slope(damage, similarity, rng).p)
    damage[2, 4, 1] = np.nan
    assert np.isnan(emitters.find_slope(damage, similarity, rng).p)


def test_asymmetry_is_none_of_mutual_damage_all_of_one_way_damage_and_not_the_noise():
    rng = np.random.default_rng(2)
    mutual = rng.normal(size=(8, 8))
    mutual = mutual + mutual.T
    one_way = rng.normal(size=(8, 8))
    one_way = one_way - one_way.T
    assert emitters.asymmetry(stack(mutual, 0.01)) < 0.01
    assert emitters.asymmetry(stack(one_way, 0.01)) > 0.99
    # Noise as large as the damage has both kinds of parts, and is subtracted.
    assert emitters.asymmetry(stack(mutual, 1.0, seeds=40)) < 0.05


def test_half_of_the_damage_one_way_is_within_the_interval():
    rng = np.random.default_rng(6)
    mutual, one_way = rng.normal(size=(2, 12, 12))
    mutual, one_way = mutual + mutual.T, one_way - one_way.T
    rests = [emitters.subtract_habits(each) for each in (mutual, one_way)]
    one_way *= np.sqrt((rests[0] ** 2).sum() / (rests[1] ** 2).sum())
    damage = stack(mutual + one_way, 0.5)
    low, high = emitters.asymmetry_interval(damage, rng)
    assert low < 0.5 < high
    assert high - low < 0.2


def test_pairs_are_found_where_harm_is_planted_and_few_elsewhere():
    rng = np.random.default_rng(3)
    used, step = emitters.off_diagonal(10), np.full(10, 1 / 45)
    harmed = atlas_level.draw_accuracies(np.full(10, 0.9), np.full(10, 0.02), rng, 0.4)
    retrained = atlas_level.draw_accuracies(np.full(10, 0.9), np.full(10, 0.02), rng)
    found = emitters.find_entries(emitters.compare_entries(retrained, harmed, step, used), used)
    assert found[0, 1:4].all()
    assert found.sum() <= 4
    assert emitters.floor_rate(retrained, used, step) <= 0.05


def test_seeds_that_agree_by_chance_find_nothing():
    """One image fewer in all seeds is no finding, although its own variance is zero."""
    rng = np.random.default_rng(8)
    used, step = emitters.off_diagonal(6), np.full(6, 1 / 40)
    retrained, run = 0.9 + 0.03 * rng.normal(size=(2, 6, 6, 5))
    retrained[0, 1], run[0, 1] = 0.9, 0.9 - 1 / 40
    found = emitters.find_entries(emitters.compare_entries(retrained, run, step, used), used)
    assert not found[0, 1]


def test_halves_are_all_divisions_of_the_seeds():
    found = emitters.halves(5)
    assert len(found) == 10
    assert all(sorted(one + rest) == [0, 1, 2, 3, 4] and len(one) == 2 for one, rest in found)


def test_similar_classes_are_neighbours_in_the_order():
    order = emitters.cluster_order(SIMILARITY[np.ix_([0, 2, 1, 3], [0, 2, 1, 3])])
    near = {frozenset(pair) for pair in pairwise(order)}
    assert {frozenset((0, 2)), frozenset((1, 3))} <= near
    undefined = SIMILARITY.copy()
    undefined[0, 1] = np.nan
    assert emitters.cluster_order(undefined) == [0, 1, 2, 3]

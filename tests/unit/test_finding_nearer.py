"""Relative MMD in its paired form: known answers, copies of models, and what cannot be told."""

import math

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun
from fake_results import FakeCell as FakeTable
from fake_results import read_cell
from scipy.special import softmax
from table_reading import texts_of

from collateral.findings.nearer.views import NOTHING, ONE_SEED, tables, words
from collateral.metrics.divergence import (
    MOST_EXAMPLES,
    choose_examples,
    relative_mmd,
    squared_bandwidth,
)
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Outputs
from collateral.results.split import Split

N, SEEDS = 60, 3
LABELS = Labels(np.zeros(N, np.int64), np.zeros(N, np.int64), ("a", "b", "c"))


def plain_relative_mmd(x, y, z, s2):
    """Return the mean of h_ij by the formula, pair by pair."""

    def k(a, b):
        return math.exp(-((a - b) ** 2).sum() / (2 * s2))

    def h(i, j):
        return (k(z[i], z[j]) - k(x[i], z[j]) - k(x[j], z[i])) - (
            k(y[i], y[j]) - k(x[i], y[j]) - k(x[j], y[i])
        )

    n = len(x)
    return np.mean([h(i, j) for i in range(n) for j in range(n) if i != j])


def test_normal_samples_have_the_known_answer():
    rng = np.random.default_rng(0)
    x, y, z = (rng.normal(size=(50, 2)) for _ in range(3))
    y, z = y + np.array([0.5, 0]), z + np.array([1, 0])
    assert relative_mmd(x, y, z, 1.0) == pytest.approx(0.024106, abs=1e-6)
    assert relative_mmd(x, y, z, 1.0) == pytest.approx(plain_relative_mmd(x, y, z, 1.0))


def test_softmax_outputs_have_the_known_answer():
    rng = np.random.default_rng(7)
    shifts = np.array([[0] * 4, [0] * 4, [2, 0, 0, 0]])
    x, y, z = (softmax(rng.normal(size=(30, 4)) + shift, axis=1) for shift in shifts)
    assert squared_bandwidth(y, z) == pytest.approx(0.118962, abs=1e-6)
    assert relative_mmd(x, y, z, squared_bandwidth(y, z)) == pytest.approx(0.553278, abs=1e-6)


def test_copies_of_retrain_and_of_the_base_are_opposite_and_the_extremes():
    rng = np.random.default_rng(1)
    own, retrained, base = (softmax(rng.normal(size=(40, 3)), axis=1) for _ in range(3))
    scale = squared_bandwidth(retrained, base)
    like_retrain = relative_mmd(retrained, retrained, base, scale)
    assert relative_mmd(base, retrained, base, scale) == pytest.approx(-like_retrain)
    order = rng.permutation(40)
    assert relative_mmd(own[order], retrained[order], base[order], scale) == pytest.approx(
        relative_mmd(own, retrained, base, scale)
    )


def test_many_examples_are_thinned_evenly():
    assert choose_examples(30).tolist() == list(range(30))
    chosen = choose_examples(12_345)
    assert len({*chosen.tolist()}) == MOST_EXAMPLES
    assert (chosen[0], chosen[-1]) == (0, 12_344)


def outputs(rng: np.random.Generator, skill: float) -> Outputs:
    logits = 0.5 * rng.normal(size=(N, 3)) + np.array([skill, 0, 0])
    p = softmax(logits, axis=1)[:, 0]
    return Outputs(logits.astype(np.float16), p.astype(np.float32), logits.argmax(axis=1))


def run(name: str, seed: int, skill: float, status: str = "ok") -> FakeRun:
    rng = np.random.default_rng([len(name), seed])
    return FakeRun(outputs(rng, skill), outputs(rng, skill), status)


def made_up(forget: int, seeds: int = SEEDS, **lost: tuple[str, int]) -> FakeCell:
    """Return a cell whose base is sure of the forgotten examples, as GA is, and FT is not."""
    nothing = np.array([], dtype=np.int64)
    similarity = np.tile(np.linspace(1, 0, N), (seeds, 1)).astype(np.float32)
    neighbours = Neighbours(
        seeds=np.arange(seeds),
        train_similarity=similarity,
        test_similarity=similarity,
        class_similarity=np.ones((seeds, 3), np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing,
    )
    skills = {"retrain": 0.0, "original": 4.0, "ft": 0.2, "scrub": 3.8}
    runs = {
        (name, seed): run(name, seed, skill, "diverged" if (name, seed) in lost.values() else "ok")
        for name, skill in skills.items()
        for seed in range(seeds)
    }
    return FakeCell(LABELS, Split(np.arange(forget), N, (0,), {"class": "a"}), neighbours, runs)


def test_each_run_is_on_its_side_and_another_retrain_on_retrains(tmp_path):
    numbers = made_up(30).numbers(tmp_path)
    for seed in range(SEEDS):
        assert numbers["ft", seed, "nearer"] > 0.5 > -0.5 > numbers["scrub", seed, "nearer"]
        assert numbers["retrain", seed, "nearer"] > 0.5
        assert numbers["original", seed, "nearer"] < -0.5
    assert numbers["ft", None, "nearer_low"] > 0 > numbers["scrub", None, "nearer_high"]
    assert numbers["retrain", None, "nearer_examples"] == 30
    assert numbers["retrain", 0, "nearer_bandwidth"] > 0


def test_below_24_examples_the_metric_is_undefined(tmp_path):
    numbers = made_up(23).numbers(tmp_path)
    found = [v for (_, _, metric, *_), v in numbers.items() if metric == "nearer"]
    assert found and all(map(math.isnan, found))
    assert numbers["retrain", None, "nearer_examples"] == 23


def test_a_run_that_diverged_has_no_number_and_one_without_base_none_at_all(tmp_path):
    numbers = made_up(30, lost=("ft", 1)).numbers(tmp_path / "lost")
    assert math.isnan(numbers["ft", 1, "nearer"])
    assert not math.isnan(numbers["ft", None, "nearer_low"])  # of the two other seeds
    cell = made_up(30)
    for seed in range(SEEDS):
        cell.runs.pop(("original", seed))
    assert not [key for key in cell.numbers(tmp_path / "without") if key[2].startswith("nearer")]


def test_with_one_seed_there_is_a_number_and_no_other_retrain(tmp_path):
    numbers = made_up(30, seeds=1).numbers(tmp_path)
    assert numbers["ft", 0, "nearer"] > 0.5
    assert math.isnan(numbers["retrain", 0, "nearer"])
    assert math.isnan(numbers["ft", None, "nearer_low"])


def table_cell(retrained: float, count: float = 30, n: int = 3) -> FakeTable:
    cell = FakeTable()
    for name, value in {"retrain": retrained, "ft": 0.4, "ga": -0.3, "rl": 0.1}.items():
        cell.add(name, "ua", *[0.5] * n)
        cell.add(name, "nearer", *[value] * n)
        half = 0.2 if n > 1 else math.nan
        cell.add_overall(name, "nearer_low", value - half)
        cell.add_overall(name, "nearer_high", value + half)
    cell.add("original", "ua", *[0.9] * n)
    cell.add("retrain", "nearer_bandwidth", *[0.25] * n)
    cell.add_overall("retrain", "nearer_examples", count)
    return cell


def test_the_table_has_intervals_and_the_sentence_both_sides(tmp_path):
    cell = read_cell(tmp_path, table_cell(0.5))
    [table] = tables(cell)
    assert texts_of(table.grids[0])["FT"] == ["+0.400 [+0.200, +0.600]", "50.0 ± 0.0"]
    assert "is 70.0 %" in table.caption  # the midpoint of 50 % and 90 %
    assert "30 examples" in table.caption and "0.250" in table.caption
    text = words(cell)
    assert "than to the base's: FT;" in text and "nearer to the base's: GA;" in text
    assert "open: RL" in text


def test_the_sentence_says_where_there_is_nothing_to_tell(tmp_path):
    assert words(read_cell(tmp_path / "a", table_cell(0.1))) == NOTHING
    few = words(read_cell(tmp_path / "b", table_cell(0.5, 23)))
    assert few.endswith("23 forgotten examples are too few to tell (at least 24).")
    assert words(read_cell(tmp_path / "c", table_cell(0.5, n=1))) == ONE_SEED

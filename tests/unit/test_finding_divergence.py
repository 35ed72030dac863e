"""Divergence from Retrain: known answers, near and far, Retrain against the next seed."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import Wrong, counted, table_of
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax
from scipy.stats import entropy
from table_reading import lines_of, texts_of

from collateral.findings.divergence.views import tables
from collateral.metrics.divergence import CHUNK, divergences

P, Q = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.2, 0.7])
# A wrong answer has the probabilities (0.3, 0.7), a right one (0.8, 0.2).
RIGHT, WRONG = np.array([0.8, 0.2]), np.array([0.3, 0.7])
JS = jensenshannon(RIGHT, WRONG) ** 2
# Of 50 forgotten, 40 near, 160 far and 100 test examples, of which the first half is near.
RETRAINED = Wrong(forget=(50, 50), near=(0, 0), far=(0, 16), test=(0, 10))
OWN = Wrong(forget=(0, 50), near=(20, 0), far=(16, 16), test=(60, 10))
RUNS = {"retrain": RETRAINED, "ft": OWN}
HALF = 1e-3  # of float16 logits 11 bits are kept


def logits_of(*rows: np.ndarray) -> np.ndarray:
    return np.log(np.array(rows)).astype(np.float16)


@pytest.fixture
def numbers(tmp_path):
    return counted(RUNS).numbers(tmp_path)


def first_seed(wrong: Wrong) -> Wrong:
    return Wrong(wrong.forget[:1], wrong.near[:1], wrong.far[:1], wrong.test[:1])


def test_both_divergences_are_as_worked_out_by_hand():
    # m = (0.4, 0.2, 0.4): 0.7 ln 1.75 + 0.1 ln 0.25; KL: 0.7 ln 7 - 0.1 ln 7.
    js, kl = divergences(logits_of(P), logits_of(Q))
    assert js == pytest.approx([0.2531], abs=2e-4)
    assert kl == pytest.approx([0.6 * math.log(7)], rel=HALF)


def test_divergences_of_many_rows_equal_those_of_scipy():
    rng = np.random.default_rng(0)
    p, q = (rng.normal(0, 3, (CHUNK // 20, 50)).astype(np.float16) for _ in range(2))
    js, kl = divergences(p, q)
    laws = [softmax(x.astype(np.float64), axis=1) for x in (p, q)]
    assert js == pytest.approx(jensenshannon(*laws, axis=1) ** 2, abs=2e-6)
    assert kl == pytest.approx(entropy(*laws, axis=1), rel=2e-6, abs=2e-6)


def test_the_law_of_kl_is_the_first():
    _, kl = divergences(logits_of([0.5, 0.5]), logits_of([0.9, 0.1]))
    assert kl == pytest.approx([0.5 * math.log(0.25 / 0.09)], rel=HALF)


def test_equal_laws_have_none_and_it_is_never_below_zero():
    logits = np.random.default_rng(0).normal(0, 5, (500, 40)).astype(np.float16)
    js, kl = divergences(logits, logits + np.float16(0))
    assert kl.max() == 0
    assert js.min() == 0 and js.max() < 2e-6


def test_certain_opposites_are_as_far_as_can_be_and_finite():
    js, kl = divergences(np.array([[6e4, -6e4]], np.float16), np.array([[-6e4, 6e4]], np.float16))
    assert js == pytest.approx([math.log(2)])
    assert np.isfinite(kl).all() and kl[0] > 1e5


def test_means_are_of_each_set_and_of_its_near_and_far_part(numbers):
    # On the first seed all forgotten, 20 of 40 near, 16 of 160 far and 50 + 10 of 100 test differ.
    shares = {
        ("forget",): 1,
        ("retain",): 36 / 200,
        ("retain", "near"): 0.5,
        ("retain", "far"): 0.1,
        ("test",): 0.6,
        ("test", "near"): 1,
        ("test", "far"): 0.2,
    }
    for part, share in shares.items():
        js, agreement = (numbers["ft", 0, name, *part] for name in ("js_divergence", "agreement"))
        assert js == pytest.approx(share * JS, abs=HALF)
        assert agreement == pytest.approx(1 - share)
    # Retrain is wrong about the forgotten ones, and right about the near ones.
    forget, near = (
        numbers["ft", 0, "kl_divergence", *p] for p in [("forget",), ("retain", "near")]
    )
    assert forget == pytest.approx(entropy(WRONG, RIGHT), abs=HALF)
    assert near == pytest.approx(entropy(RIGHT, WRONG) / 2, abs=HALF)


def test_a_run_like_retrain_has_none(numbers):
    found = {key[2:]: v for key, v in numbers.items() if key[:2] == ("ft", 1)}
    assert [found["js_divergence", name] for name in ("forget", "retain", "test")] == pytest.approx(
        [0, 0, 0], abs=1e-6
    )
    assert found["agreement", "retain", "near"] == 1


def test_retrain_is_compared_with_retrain_of_the_next_seed(numbers):
    for seed in (0, 1):
        far = numbers["retrain", seed, "js_divergence", "retain", "far"]
        assert far == pytest.approx(0.1 * JS, abs=HALF)
        assert numbers["retrain", seed, "agreement", "retain"] == pytest.approx(1 - 16 / 200)
        assert numbers["retrain", seed, "agreement", "forget"] == 1


def test_agreement_and_disagreement_are_all(numbers):
    for name in ("forget", "retain", "test"):
        shares = [numbers["ft", 0, metric, name] for metric in ("agreement", "disagreement")]
        assert sum(shares) == pytest.approx(1)


def test_with_one_seed_retrain_has_no_other_and_a_run_has_its_numbers(tmp_path):
    numbers = counted({run: first_seed(wrong) for run, wrong in RUNS.items()}).numbers(tmp_path)
    assert math.isnan(numbers["retrain", 0, "js_divergence", "test"])
    assert numbers["ft", 0, "js_divergence", "forget"] == pytest.approx(JS, abs=HALF)


@pytest.mark.parametrize("lost", ["ft", "retrain"])
def test_divergence_is_undefined_if_either_model_diverged(tmp_path, lost):
    broken = replace(RUNS[lost], status=("diverged", "ok"))
    numbers = counted({**RUNS, lost: broken}).numbers(tmp_path)
    assert math.isnan(numbers["ft", 0, "js_divergence", "forget"])
    assert not math.isnan(numbers["ft", 1, "js_divergence", "forget"])
    # Every pair of Retrains has the first seed's.
    by_seed = [math.isnan(numbers["retrain", seed, "agreement", "test"]) for seed in (0, 1)]
    assert by_seed == [lost == "retrain"] * 2


def test_the_table_has_a_grid_a_measure(tmp_path):
    [table] = tables(table_of(tmp_path, RUNS))
    assert [grid.corner for grid in table.grids] == ["JS (nats)", "KL (nats)", "Agreement (%)"]
    agreement = texts_of(table.grids[2])
    assert agreement["FT"][1:3] == ["75.0 ± 35.4", "95.0 ± 7.1"]
    assert agreement["Retrain, next seed"][0] == "100.0 ± 0.0"
    assert table.grids[0].headings[:2] == ["Forgotten", "Near, retained"]
    assert len(table.records) == 3 * 2 * 7


def test_with_one_seed_or_without_a_run_the_table_has_what_there_is(tmp_path):
    [table] = tables(
        table_of(tmp_path / "a", {run: first_seed(wrong) for run, wrong in RUNS.items()})
    )
    assert list(lines_of(table.grids[0])) == ["FT"]
    assert "One seed" in table.caption
    assert list(tables(table_of(tmp_path / "b", {"retrain": first_seed(RETRAINED)}))) == []

"""RMIA: scores and AUC worked out by hand, who is compared, what intervals cover."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun
from fake_results import FakeCell as FakeTable
from fake_results import read_cell
from sklearn.metrics import roc_auc_score
from table_reading import texts_of

from collateral.findings.rmia.numbers import auc_interval
from collateral.findings.rmia.views import tables
from collateral.metrics.likelihood_attacks import (
    delong_interval,
    find_placements,
    placement_auc,
    rmia_scores,
)
from collateral.metrics.statistics import tpr_at_one_percent
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Outputs
from collateral.results.split import Split

# Four training and four test examples of each of two classes; two of the first are forgotten.
LABELS = Labels(np.array([0] * 4 + [1] * 4), np.array([0] * 4 + [1] * 4), ("a", "b"))
SPLIT = Split(np.array([0, 1]), 8, (0,), {"class": "a", "fraction": 0.5})
WHOLE = Split(np.arange(4), 8, (0,), {"class": "a", "fraction": 1.0})
RNG = np.random.default_rng(0)


def run(forget: list[float], test: list[float], status: str = "ok") -> FakeRun:
    """Make a run of its confidences in what it forgets, and in test examples of its class."""
    values = ([*forget, *[0.9] * (8 - len(forget))], [*test, *[0.01] * 4])
    return FakeRun(*(outputs(np.array(v, np.float32)) for v in values), status)


def outputs(confidence: np.ndarray) -> Outputs:
    logits = np.zeros((len(confidence), 2), np.float16)
    return Outputs(logits, confidence, np.where(confidence > 0.5, LABELS.train, 1 - LABELS.train))


def cell_of(*by_seed: dict[str, FakeRun], split: Split = SPLIT) -> FakeCell:
    num_seeds, nothing = len(by_seed), np.array([], dtype=np.int64)
    similarity = np.tile(np.linspace(0, 1, 8), (num_seeds, 1)).astype(np.float32)
    neighbours = Neighbours(
        seeds=np.arange(num_seeds),
        train_similarity=similarity,
        test_similarity=similarity,
        class_similarity=np.ones((num_seeds, 2), np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing,
    )
    runs = {(name, seed): made for seed, of in enumerate(by_seed) for name, made in of.items()}
    return FakeCell(LABELS, split, neighbours, runs)


# Seed 0's OUT model is seed 1's Retrain, and the other way round.
FIRST = {
    "retrain": run([0.2, 0.4], [0.2, 0.4, 0.5, 0.8]),
    "ft": run([0.8, 0.4], [0.1, 0.2, 0.25, 0.4]),
}
SECOND = {
    "retrain": run([0.4, 0.2], [0.1, 0.2, 0.5, 0.4]),
    "ft": run([0.1, 0.1], [0.2, 0.4, 0.5, 0.8]),
}


@pytest.fixture
def numbers(tmp_path):
    return cell_of(FIRST, SECOND).numbers(tmp_path)


def test_a_score_is_the_log_ratio_to_the_mean_over_out_models():
    found = rmia_scores(np.array([0.6, 0.3]), [np.array([0.2, 0.9]), np.array([0.4, 0.3])])
    assert found == pytest.approx([math.log(2), math.log(0.5)])


def test_a_confidence_of_zero_has_a_finite_score():
    zero, one = np.array([0.0]), np.array([1.0])
    assert rmia_scores(zero, [one]) == pytest.approx([-30 * math.log(10)])
    assert rmia_scores(zero, [zero]) == [0]


def test_the_auc_is_that_of_scikit_learn_ties_included():
    members, others = RNG.integers(0, 8, 50) + 1.0, RNG.integers(0, 8, 70) + 0.0
    truth = np.repeat([1, 0], [50, 70])
    expected = roc_auc_score(truth, np.concatenate([members, others]))
    below, above = find_placements(members, others)
    assert placement_auc((below, above)) == pytest.approx(expected)
    assert above.mean() == pytest.approx(expected)


@pytest.mark.filterwarnings("error")
def test_without_one_side_the_placements_of_the_other_are_undefined_and_nothing_warns():
    two, none = np.array([0.3, 0.7]), np.array([])
    for sides in ((two, none), (none, two)):
        placements = find_placements(*sides)
        assert [*map(len, placements)] == [*map(len, sides)]
        assert np.isnan(np.concatenate(placements)).all()
        assert math.isnan(placement_auc(placements))


def test_the_auc_is_of_test_examples_of_the_affected_class_and_of_other_seeds_models(numbers):
    # Members' ratios 2 and 2; non-members' 1, 1, 1/2 and 1. Others' confidences never count.
    assert numbers["ft", 0, "rmia_auc"] == 1
    # 1/2 and 1/4 against 1, 1, 1 and 1.
    assert numbers["ft", 1, "rmia_auc"] == 0
    # 1/2 and 2 against 2, 2, 1 and 2: of eight pairs three ties and a win.
    assert numbers["retrain", 0, "rmia_auc"] == (3 * 0.5 + 1) / 8
    assert numbers["retrain", None, "rmia_non_members"] == 4


def test_the_runs_own_seed_is_no_out_model(tmp_path, numbers):
    third = {**FIRST, "retrain": run([0.6, 0.6], [0.3, 0.3, 0.3, 0.3])}
    found = cell_of(FIRST, SECOND, third).numbers(tmp_path / "three")
    # For seed 2 the others' mean is 0.3, 0.3 and 0.15, 0.3, 0.5, 0.6.
    ratios = [0.8 / 0.3, 0.4 / 0.3], [0.1 / 0.15, 0.2 / 0.3, 0.25 / 0.5, 0.4 / 0.6]
    expected = np.mean([[a > b for b in ratios[1]] for a in ratios[0]])
    assert found["ft", 2, "rmia_auc"] == expected
    changed = {**third, "retrain": run([0.001, 0.9], [0.9, 0.9, 0.9, 0.001])}
    again = cell_of(FIRST, SECOND, changed).numbers(tmp_path / "again")
    assert again["ft", 2, "rmia_auc"] == found["ft", 2, "rmia_auc"]
    assert again["ft", 0, "rmia_auc"] != numbers["ft", 0, "rmia_auc"]


def test_a_whole_class_may_be_forgotten(tmp_path):
    made = [
        {
            "retrain": run([0.1] * 4, [0.1] * 4),
            "ft": run([0.2, 0.2, 0.1, 0.05], [0.1] * 4),
        }
    ] * 2
    numbers = cell_of(*made, split=WHOLE).numbers(tmp_path)
    assert numbers["retrain", 0, "rmia_auc"] == 0.5
    assert numbers["ft", 0, "rmia_auc"] == (2 + 0.5) / 4


def test_with_one_seed_there_is_no_score(tmp_path):
    numbers = cell_of(FIRST).numbers(tmp_path)
    found = [value for key, value in numbers.items() if key[2].startswith(("rmia_auc", "rmia_tpr"))]
    assert len(found) == 2 * 6
    assert all(map(math.isnan, found))


def test_without_a_method_there_is_retrain_alone(tmp_path):
    alone = [{"retrain": one["retrain"]} for one in (FIRST, SECOND)]
    numbers = cell_of(*alone).numbers(tmp_path)
    assert not math.isnan(numbers["retrain", 1, "rmia_auc"])


def test_a_diverged_retrain_is_no_out_model_and_has_no_score(tmp_path):
    broken = {"retrain": replace(FIRST["retrain"], status="diverged"), "ft": FIRST["ft"]}
    numbers = cell_of(FIRST, SECOND, broken).numbers(tmp_path / "three")
    two = cell_of(FIRST, SECOND).numbers(tmp_path / "two")
    assert numbers["ft", 0, "rmia_auc"] == two["ft", 0, "rmia_auc"]
    assert math.isnan(numbers["retrain", 2, "rmia_auc"])
    assert not math.isnan(numbers["ft", 2, "rmia_auc"])


def test_a_run_that_diverged_in_one_seed_has_no_interval(tmp_path):
    broken = {**SECOND, "ft": replace(SECOND["ft"], status="diverged")}
    numbers = cell_of(FIRST, broken).numbers(tmp_path)
    assert numbers["ft", 0, "rmia_auc"] == 1 and math.isnan(numbers["ft", 1, "rmia_auc"])
    assert math.isnan(numbers["ft", None, "rmia_auc_low"])
    assert not math.isnan(numbers["retrain", None, "rmia_auc_low"])


def test_tpr_wants_a_thousand_non_members():
    others = np.arange(1000.0)
    members = np.array([988.5, 989.0, 989.5, 2000.0])
    # Ten of a thousand may be above: all but those from 990 on are not above 989.
    assert tpr_at_one_percent(members, others) == 0.5
    assert math.isnan(tpr_at_one_percent(members, others[:999]))


def test_equal_scores_are_no_true_positives():
    assert tpr_at_one_percent(np.zeros(5), np.zeros(1000)) == 0


def auc_of(members: np.ndarray, non_members: np.ndarray) -> float:
    return placement_auc(find_placements(members, non_members))


def test_nobody_has_no_auc():
    assert math.isnan(auc_of(np.array([]), np.arange(3.0)))
    assert math.isnan(auc_of(np.arange(3.0), np.array([])))


def test_the_interval_over_seeds_is_students_and_stays_a_rate():
    others = np.array([0.5 - 1e-9, -1.0])
    aucs = [auc_of(np.array([a, 1 - a]), others) for a in (0.6, 0.7, 0.2)]
    assert aucs == [0.75] * 3
    assert auc_interval(aucs) == (0.75, 0.75)
    apart = [auc_of(np.ones(2), np.zeros(2)), auc_of(np.zeros(2), np.ones(2))]
    assert auc_interval(apart) == (0, 1)
    assert all(map(math.isnan, auc_interval(aucs[:1])))


def test_the_interval_over_examples_is_delongs():
    members, others = RNG.normal(1, 1, 40), RNG.normal(0, 1, 60)
    wins = (members[:, None] > others).astype(float)
    auc = wins.mean()
    variance = wins.mean(axis=1).var(ddof=1) / 40 + wins.mean(axis=0).var(ddof=1) / 60
    half = 1.96 * math.sqrt(variance) / (auc * (1 - auc))
    middle = math.log(auc / (1 - auc))
    ends = [1 / (1 + math.exp(-(middle + sign * half))) for sign in (-1, 1)]
    assert delong_interval([find_placements(members, others)]) == pytest.approx(ends)
    assert delong_interval([find_placements(members, others)] * 3) == pytest.approx(ends)


def test_sets_apart_or_of_one_example_have_no_interval_over_examples():
    for sides in ((np.ones(9), np.zeros(9)), (np.ones(1), np.arange(9.0) / 5)):
        assert all(map(math.isnan, delong_interval([find_placements(*sides)])))


def test_intervals_over_examples_cover_95_percent():
    rng, repeats = np.random.default_rng(1), 400
    true = 0.5 * (1 + math.erf(0.5 / math.sqrt(2) / math.sqrt(2)))
    found = [
        delong_interval([find_placements(rng.normal(0.5, 1, 60), rng.normal(0, 1, 80))])
        for _ in range(repeats)
    ]
    covered = np.mean([low <= true <= high for low, high in found])
    assert abs(covered - 0.95) <= 3 * math.sqrt(0.95 * 0.05 / repeats)


def table_cell(num_seeds: int, non_members: float) -> FakeTable:
    cell = FakeTable()
    for name, auc in (("retrain", 0.5), ("ft", 0.7)):
        values = [auc] * num_seeds if num_seeds > 1 else [math.nan]
        cell.add(name, "rmia_auc", *values)
        cell.add(name, "rmia_tpr", *([0.02] * num_seeds if non_members >= 1000 else values))
        for end, reach in (("low", -0.1), ("high", 0.1)):
            for kind, factor in (("", 1), ("examples_", 0.5)):
                reached = auc + factor * reach if num_seeds > 1 else math.nan
                cell.add_overall(name, f"rmia_auc_{kind}{end}", reached)
    cell.add_overall("retrain", "rmia_non_members", non_members)
    return cell


def test_the_table_has_both_intervals_and_says_why_there_is_no_tpr(tmp_path):
    [table] = tables(read_cell(tmp_path, table_cell(3, 100)))
    [grid] = table.grids
    assert grid.headings == ["AUC [over seeds]", "[over examples]"]
    assert texts_of(grid)["FT"] == ["0.700 [0.600, 0.800]", "[0.650, 0.750]"]
    assert "n = 3 seeds" in table.caption
    assert "Non-members: 100; the TPR at 1 % FPR needs 1,000." in table.caption


def test_with_non_members_enough_there_is_a_tpr(tmp_path):
    [table] = tables(read_cell(tmp_path, table_cell(2, 1000)))
    assert table.grids[0].headings[-1] == "RMIA TPR (%)"
    assert texts_of(table.grids[0])["Retrain"][-1] == "2.0"


def test_with_one_seed_the_table_says_why_it_is_empty(tmp_path):
    [table] = tables(read_cell(tmp_path, table_cell(1, 100)))
    assert texts_of(table.grids[0])["FT"] == ["–", "–"]
    assert "One seed: there is no other Retrain" in table.caption

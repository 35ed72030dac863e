from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from collateral.results.dataset import Labels
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import ModelOutputs, Outputs
from collateral.results.split import Split
from collateral.findings.compute import cell_rows
from collateral.results.cell import Cell, Result
from collateral.contract.rows import Row

# Forty training and forty test examples of two classes at random; the first five are forgotten.
# There are fewer retained than test examples, so that the attack's members are all of them.
N, M = 40, 40
LABELS = Labels(np.arange(N) % 2, np.arange(M) % 2, ("a", "b"))
SPLIT = Split(np.array([0, 2, 4, 6, 8]), N, (0,), {"class": "a", "fraction": 0.25})
RATES = ("ua", "ra", "ta", "mia", "disagreement", "avg_gap", "floor:")


def neighbours(num_seeds: int) -> Neighbours:
    rng = np.random.default_rng(0)
    nothing = np.array([], dtype=np.uint8)
    return Neighbours(
        seeds=np.arange(num_seeds),
        train_similarity=rng.random((num_seeds, N), dtype=np.float32),
        test_similarity=rng.random((num_seeds, M), dtype=np.float32),
        class_similarity=rng.random((num_seeds, 2), dtype=np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing.astype(np.int64),
        shown_images=nothing.reshape(0, 1, 1, 1),
    )


CELL = Cell("a-25", LABELS, SPLIT, neighbours(3))


def outputs(rng: np.random.Generator, labels: np.ndarray, skill: float) -> Outputs:
    logits = rng.normal(size=(len(labels), 2))
    logits[np.arange(len(labels)), labels] += skill
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    confidence = p[np.arange(len(labels)), labels].astype(np.float32)
    return Outputs(logits.astype(np.float16), confidence, logits.argmax(axis=1))


def result(run: str, seed: int, status: str = "ok", draw: int = 0) -> Result:
    rng = np.random.default_rng([draw, seed])
    model = ModelOutputs(outputs(rng, LABELS.train, 2), outputs(rng, LABELS.test, 1))
    kind = "reference" if run == "retrain" else "method"
    return Result(run, kind, seed, status, model, {})


def diverged(run: str, seed: int) -> Result:
    def nothing(n: int) -> Outputs:
        no_number = np.full((n, 2), np.nan)
        return Outputs(no_number.astype(np.float16), no_number[:, 0], np.zeros(n, dtype=np.int64))

    whole = result(run, seed, "diverged")
    return replace(whole, outputs=ModelOutputs(nothing(N), nothing(M)))


RETRAINED = [result("retrain", seed) for seed in range(3)]
RUNS = [result("ft", seed, draw=1) for seed in range(3)]


def select(rows: Sequence[Row], **wanted: object) -> dict[str, Row]:
    """Return the rows that have what is wanted, by metric."""
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    by_metric = {str(row["metric"]): row for row in found}
    assert len(by_metric) == len(found) > 0
    return by_metric


def values(rows: Sequence[Row], **wanted: object) -> Mapping[str, object]:
    return {metric: row["value"] for metric, row in select(rows, **wanted).items()}


def test_retrained_against_itself_is_ideal():
    copies = [replace(of_seed, run="copy", kind="method") for of_seed in RETRAINED]
    rows = cell_rows(CELL, RETRAINED, copies)
    against = [
        row["value"]
        for row in rows
        if str(row["metric"]).startswith(("delta_", "disagreement_")) and row["value"] != ""
    ]
    assert len(against) > 100  # of 129; the others are empty bins
    assert set(against) == {0}
    assert values(rows, run="copy", seed="") == {"avg_gap": 0, "avg_gap_affected": 0}


def test_rates_and_deltas_are_in_their_ranges():
    rows = cell_rows(CELL, RETRAINED, RUNS)
    rates = [row["value"] for row in rows if str(row["metric"]).startswith(RATES)]
    deltas = [row["value"] for row in rows if str(row["metric"]).startswith("delta_")]
    assert len(rates) == 6 * 11 + 3 * 3 + 2 + 7 + 2
    assert len(deltas) == 3 * 40
    assert all(0 <= value <= 1 for value in rates)
    assert all(-1 <= value <= 1 for value in deltas if value != "")


def test_all_numbers_are_invariant_to_the_order_of_the_examples():
    rng = np.random.default_rng(0)
    train, test = rng.permutation(N), rng.permutation(M)  # new place -> old place
    forget = np.sort(np.flatnonzero(np.isin(train, SPLIT.forget)))
    similarities = CELL.neighbours
    shuffled = Cell(
        CELL.name,
        Labels(LABELS.train[train], LABELS.test[test], LABELS.class_names),
        replace(SPLIT, forget=forget),
        replace(
            similarities,
            train_similarity=similarities.train_similarity[:, train],
            test_similarity=similarities.test_similarity[:, test],
        ),
    )

    def shuffle(of_seed: Result) -> Result:
        model = of_seed.outputs
        return replace(of_seed, outputs=ModelOutputs(model.train[train], model.test[test]))

    rows = cell_rows(CELL, RETRAINED, RUNS)
    again = cell_rows(shuffled, map(shuffle, RETRAINED), map(shuffle, RUNS))
    assert [row["metric"] for row in again] == [row["metric"] for row in rows]
    for row, other in zip(rows, again, strict=True):
        # Sums of confidences in another order differ in the last places.
        assert other["value"] == pytest.approx(row["value"], abs=1e-12), row


def test_a_diverged_run_has_empty_values_and_says_so():
    rows = cell_rows(CELL, RETRAINED, [RUNS[0], diverged("ft", 1), RUNS[2]])
    whole, broken = (select(rows, run="ft", seed=seed) for seed in (0, 1))
    assert whole.keys() == broken.keys()
    assert {(row["value"], row["status"]) for row in broken.values()} == {("", "diverged")}
    assert {row["status"] for row in whole.values()} == {"ok"}


def test_a_run_that_diverged_in_one_seed_has_no_gap_and_says_so():
    rows = cell_rows(CELL, RETRAINED, [RUNS[0], diverged("ft", 1), RUNS[2]])
    pooled = select(rows, run="ft", seed="")
    assert pooled.keys() == {"avg_gap", "avg_gap_affected"}
    assert {(row["value"], row["status"]) for row in pooled.values()} == {("", "diverged")}


def test_a_collapsed_run_keeps_its_values():
    collapsed = [replace(RUNS[0], status="collapsed"), *RUNS[1:]]
    plain, marked = (cell_rows(CELL, RETRAINED, runs) for runs in (RUNS, collapsed))
    assert [row["value"] for row in marked] == [row["value"] for row in plain]
    assert select(marked, run="ft", seed="")["avg_gap"]["status"] == "collapsed"


def test_nothing_is_held_against_a_diverged_retrain():
    retrained = [RETRAINED[0], diverged("retrain", 1), RETRAINED[2]]
    rows = cell_rows(CELL, retrained, RUNS)
    against = values(rows, run="ft", seed=1)
    assert {against["delta_acc:test:00"], against["disagreement_forget"]} == {""}
    assert against["ua"] != ""
    reference = values(rows, run="retrain", seed="")
    assert reference["floor:ua"] == reference["avg_gap"] == ""
    # The bins' floors are those of the two retrainings that are left.
    left = values(cell_rows(CELL, [RETRAINED[0], RETRAINED[2]], [RUNS[0]]), run="retrain", seed="")
    assert reference["floor_acc:test:00"] == left["floor_acc:test:00"] != ""


def test_an_undefined_metric_is_empty_and_drops_out_of_the_gap():
    whole_class = Split(np.arange(0, N, 2), N, (0,), {"class": "a", "fraction": 1.0})
    rows = cell_rows(replace(CELL, split=whole_class), RETRAINED, RUNS)
    assert values(rows, run="ft", seed=0)["ra_affected"] == ""
    assert values(rows, run="retrain", seed="")["floor:ra_affected"] == ""

    def mean(run: str, metric: str) -> float:
        return np.mean([values(rows, run=run, seed=seed)[metric] for seed in range(3)])

    gaps = [abs(mean("ft", m) - mean("retrain", m)) for m in ("ua_affected", "ta_affected")]
    found = values(rows, run="ft", seed="")["avg_gap_affected"]
    assert found == pytest.approx(np.mean(gaps))


def test_one_seed_has_gaps_and_no_floors():
    cell = replace(CELL, neighbours=neighbours(1))
    rows = cell_rows(cell, RETRAINED[:1], RUNS[:1])
    assert values(rows, run="ft", seed="")["avg_gap"] > 0
    floors = {value for m, value in values(rows, run="retrain", seed="").items() if "floor" in m}
    assert floors == {""}


def test_extra_numbers_of_a_record_become_rows():
    rows = cell_rows(CELL, RETRAINED, [replace(RUNS[0], extra={"teacher_ua": 0.25})])
    assert values(rows, run="ft", seed=0)["teacher_ua"] == 0.25


def test_extra_numbers_may_not_take_the_name_of_a_metric():
    with pytest.raises(ValueError, match=r"ft: its record's extra \['ua'\]"):
        cell_rows(CELL, RETRAINED, [replace(RUNS[0], extra={"ua": 0.25})])


def test_bins_are_counted_by_seed_and_share_their_edges():
    rows = cell_rows(CELL, RETRAINED, RUNS)
    similarity = CELL.neighbours.test_similarity
    low, high = float(similarity.min()), float(similarity.max())
    for seed in range(3):
        found = values(rows, run="retrain", seed=seed)
        expected, _ = np.histogram(similarity[seed], bins=10, range=(low, high))
        assert [found[f"bin_count:test:{index:02d}"] for index in range(10)] == expected.tolist()
        assert sum(found[f"bin_count:retain:{index:02d}"] for index in range(10)) == N - 5
    reference = values(rows, run="retrain", seed="")
    assert (reference["bin_low:test:00"], reference["bin_high:test:09"]) == (low, high)
    assert reference["bin_high:retain:03"] == reference["bin_low:retain:04"]


def test_the_sizes_of_the_affected_classes_are_rows_of_retrain():
    found = values(cell_rows(CELL, RETRAINED, RUNS), run="retrain", seed="")
    sizes = {name: value for name, value in found.items() if "_count:" in name}
    assert sizes == {"train_count:a": 20.0, "forget_count:a": 5.0}


BOTH = Split(np.array([0, 1, 2, 4]), N, (0, 1), {"kind": "classes_part", "classes": {}})


def test_several_affected_classes_are_taken_together():
    rows = cell_rows(replace(CELL, split=BOTH), RETRAINED, RUNS)
    assert {(row["class"], row["fraction"]) for row in rows} == {("", "")}
    found = values(rows, run="retrain", seed="")
    assert found["forget_count:a"] == 3.0
    assert found["forget_count:b"] == 1.0
    for seed in range(3):
        # Both classes there are, are affected: what is affected is everything.
        of_seed = values(rows, run="ft", seed=seed)
        for name in ("ua", "ra", "ta"):
            assert of_seed[f"{name}_affected"] == of_seed[name]


def test_a_random_share_has_a_fraction_and_no_class():
    split = replace(BOTH, chosen={"kind": "random_part", "fraction": 0.1, "split_seed": 0})
    rows = cell_rows(replace(CELL, split=split), RETRAINED, RUNS)
    assert {(row["class"], row["fraction"]) for row in rows} == {("", 0.1)}

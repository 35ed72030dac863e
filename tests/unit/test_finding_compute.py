"""All findings of a cell of forty training and forty test examples, drawn at random."""

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fake_cell import FakeCell, FakeRun, Numbers
from plug_ins import forgotten_after

from collateral.findings.registry import cell_numbers, in_order, read_problems, write_problems
from collateral.plugins.find import FINDING, add_plugins
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import Outputs
from collateral.results.split import Split

# Of two classes; the first five of one are forgotten. There are fewer retained than test examples,
# so that the attack's members are all of them.
N, M = 40, 40
LABELS = Labels(np.arange(N) % 2, np.arange(M) % 2, ("a", "b"))
SPLIT = Split(np.array([0, 2, 4, 6, 8]), N, (0,), {"class": "a", "fraction": 0.25})
RATES = ("ua", "ra", "ta", "mia", "disagreement", "avg_gap", "floor")
AGAINST = {"delta_acc", "delta_conf", "disagreement", "near_loss", "far_loss"}


def neighbours(num_seeds: int) -> Neighbours:
    rng = np.random.default_rng(0)
    nothing = np.array([], dtype=np.uint8)
    train, test = (rng.random((num_seeds, count), dtype=np.float32) for count in (N, M))
    for similarity in (train, test):
        similarity[:, [1, 3]] = 0, 1  # of retained examples: the same bins whatever the seeds
    return Neighbours(
        seeds=np.arange(num_seeds),
        train_similarity=train,
        test_similarity=test,
        class_similarity=rng.random((num_seeds, 2), dtype=np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing.astype(np.int64),
    )


def outputs(rng: np.random.Generator, labels: np.ndarray, skill: float) -> Outputs:
    logits = rng.normal(size=(len(labels), 2))
    logits[np.arange(len(labels)), labels] += skill
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    confidence = p[np.arange(len(labels)), labels].astype(np.float32)
    return Outputs(logits.astype(np.float16), confidence, logits.argmax(axis=1))


def model(seed: int, draw: int = 0) -> FakeRun:
    rng = np.random.default_rng([draw, seed])
    return FakeRun(outputs(rng, LABELS.train, 2), outputs(rng, LABELS.test, 1))


def nothing(n: int) -> Outputs:
    no_number = np.full((n, 2), np.nan)
    return Outputs(no_number.astype(np.float16), no_number[:, 0], np.zeros(n, dtype=np.int64))


DIVERGED = FakeRun(nothing(N), nothing(M), "diverged")
RETRAINED = {("retrain", seed): model(seed) for seed in range(3)}
RUNS = {("ft", seed): model(seed, draw=1) for seed in range(3)}
CELL = FakeCell(LABELS, SPLIT, neighbours(3), RETRAINED | RUNS)


def with_runs(runs: Mapping[tuple[str, int], FakeRun]) -> FakeCell:
    return replace(CELL, runs=RETRAINED | RUNS | runs)


def of(numbers: Numbers, run: str, seed: int | None) -> dict[tuple, float]:
    """Return the numbers of a run and seed by metric, set and index."""
    found = {key[2:]: value for key, value in numbers.items() if key[:2] == (run, seed)}
    assert found
    return found


def test_retrained_against_itself_is_ideal(tmp_path):
    copies = {("copy", seed): model(seed) for seed in range(3)}
    numbers = replace(CELL, runs=RETRAINED | copies).numbers(tmp_path)
    against = [v for key, v in numbers.items() if key[2] in AGAINST and not math.isnan(v)]
    assert len(against) > 110  # of 141; the others are empty bins
    assert set(against) == {0}
    over_seeds = of(numbers, "copy", None)
    gaps = ("avg_gap", "avg_gap_affected", "forgetting_error")
    assert [over_seeds[gap,] for gap in gaps] == [0, 0, 0]
    assert over_seeds["verdict", "like Retrain"] == 1


def test_rates_and_differences_are_in_their_ranges(tmp_path):
    numbers = CELL.numbers(tmp_path)
    rates = [v for key, v in numbers.items() if key[2].startswith(RATES)]
    deltas = [v for key, v in numbers.items() if key[2] in AGAINST - {*RATES}]
    assert len(rates) == 6 * 11 + 3 * 3 + 2 + 9
    assert len(deltas) == 3 * 44
    assert all(0 <= value <= 1 for value in rates)
    assert all(-1 <= value <= 1 for value in deltas if not math.isnan(value))


def reorder(outputs, order):
    """Return the outputs of the same examples in another order."""
    names = ("logits", "confidence", "prediction")
    return replace(outputs, **{name: getattr(outputs, name)[order] for name in names})


def test_all_numbers_are_invariant_to_the_order_of_the_examples(tmp_path):
    rng = np.random.default_rng(0)
    train, test = rng.permutation(N), rng.permutation(M)  # new place -> old place
    shuffled = FakeCell(
        Labels(LABELS.train[train], LABELS.test[test], LABELS.class_names),
        replace(SPLIT, forget=np.sort(np.flatnonzero(np.isin(train, SPLIT.forget)))),
        replace(
            CELL.neighbours,
            train_similarity=CELL.neighbours.train_similarity[:, train],
            test_similarity=CELL.neighbours.test_similarity[:, test],
        ),
        {
            k: replace(r, train=reorder(r.train, train), test=reorder(r.test, test))
            for k, r in CELL.runs.items()
        },
    )
    numbers, again = CELL.numbers(tmp_path / "a"), shuffled.numbers(tmp_path / "b")
    # Sums of confidences in another order differ in the last places.
    assert again == pytest.approx(numbers, abs=1e-12, nan_ok=True)


def test_a_diverged_run_has_no_values_and_says_so(tmp_path):
    cell = with_runs({("ft", 1): DIVERGED})
    numbers = cell.numbers(tmp_path)
    whole, broken = (of(numbers, "ft", seed) for seed in (0, 1))
    assert whole.keys() == broken.keys()
    measured = {
        key: v for key, v in broken.items() if key[0] not in ("rte", "seconds", "peak_rss_mb")
    }
    assert len(measured) > 50
    assert all(math.isnan(value) for value in measured.values())
    results = cell.write(tmp_path)
    assert [results.worst_status("ft", seed) for seed in (0, 1, None)] == [
        "ok",
        "diverged",
        "diverged",
    ]


def test_a_run_that_diverged_in_one_seed_has_no_gap(tmp_path):
    pooled = of(with_runs({("ft", 1): DIVERGED}).numbers(tmp_path), "ft", None)
    # It collapsed, of three seeds, and took its time.
    told = {("verdict", "collapsed"): 1, ("decided_at",): 3, ("rte_share",): 1}
    # Rates of the seeds that are left and the margins from Retrain stand beside them.
    known = {key: value for key, value in pooled.items() if key[0] not in ("judged_rate", "margin")}
    assert {key: value for key, value in known.items() if not math.isnan(value)} == told
    assert pooled["judged_rate", "diverged"] == pytest.approx(1 / 3)
    assert pooled.keys() >= {("avg_gap",), ("avg_gap_affected",), ("difference", "ua")}


def test_a_collapsed_run_keeps_its_values(tmp_path):
    collapsed = with_runs({("ft", 0): replace(RUNS["ft", 0], status="collapsed")})
    plain, marked = CELL.numbers(tmp_path / "a"), collapsed.numbers(tmp_path / "b")
    assert marked.pop(("ft", None, "verdict", "collapsed")) == 1
    verdict = ("ft", None, "verdict", "open")
    assert plain.pop(verdict) == 1
    plain.pop(("ft", None, "seeds_needed"), None)
    share = ("ft", None, "judged_rate", "collapsed")
    assert (plain.pop(share), marked.pop(share)) == (0, pytest.approx(1 / 3))
    assert marked == pytest.approx(plain, abs=0, nan_ok=True)
    assert collapsed.write(tmp_path).worst_status("ft", None) == "collapsed"


def test_nothing_is_compared_with_a_diverged_retrain(tmp_path):
    numbers = with_runs({("retrain", 1): DIVERGED}).numbers(tmp_path / "a")
    against = of(numbers, "ft", 1)
    lost = (("delta_acc", "test", 0), ("disagreement", "forget"), ("near_loss", "retain"))
    assert all(math.isnan(against[key]) for key in lost)
    assert not math.isnan(against["ua",])
    reference = of(numbers, "retrain", None)
    assert math.isnan(reference["floor", "ua"]) and math.isnan(reference["floor", "avg_gap"])
    # The bins' noise is that of the two retrainings that are left, in their own seeds' bins.
    left = replace(
        CELL,
        neighbours=replace(
            CELL.neighbours,
            seeds=np.array([0, 2]),
            **{
                name: getattr(CELL.neighbours, name)[[0, 2]]
                for name in ("train_similarity", "test_similarity", "class_similarity")
            },
        ),
        runs={key: run for key, run in CELL.runs.items() if key[1] != 1},
    )
    edges = [("bin_low", "test", 0), ("bin_high", "test", 9)]
    expected = of(left.numbers(tmp_path / "b"), "retrain", None)
    assert [expected[edge] for edge in edges] == [reference[edge] for edge in edges]
    assert reference["delta_acc_sd", "test", 0] == expected["delta_acc_sd", "test", 0] > 0


def test_an_undefined_metric_drops_out_of_the_gap(tmp_path):
    whole_class = Split(np.arange(0, N, 2), N, (0,), {"class": "a", "fraction": 1.0})
    numbers = replace(CELL, split=whole_class).numbers(tmp_path)
    assert math.isnan(numbers["ft", 0, "ra_affected"])
    assert math.isnan(numbers["retrain", None, "floor", "ra_affected"])

    def mean(run: str, metric: str) -> float:
        return np.mean([numbers[run, seed, metric] for seed in range(3)])

    gaps = [abs(mean("ft", m) - mean("retrain", m)) for m in ("ua_affected", "ta_affected")]
    assert numbers["ft", None, "avg_gap_affected"] == pytest.approx(np.mean(gaps))


def test_one_seed_has_gaps_and_no_noise(tmp_path):
    first = {key: run for key, run in CELL.runs.items() if key[1] == 0}
    numbers = replace(CELL, neighbours=neighbours(1), runs=first).numbers(tmp_path)
    assert numbers["ft", None, "avg_gap"] > 0
    noise = [v for key, v in numbers.items() if key[2] == "floor" or key[2].endswith("_sd")]
    assert len(noise) == 9 + 46
    assert all(math.isnan(value) for value in noise)


def test_numbers_that_a_method_reports_become_metrics(tmp_path):
    runs = {
        ("ft", seed): replace(model(seed), extra={"teacher_ua": 0.25, "mine": 3})
        for seed in (0, 1, 2)
    }
    numbers = with_runs(runs).numbers(tmp_path)
    assert (numbers["ft", 0, "teacher_ua"], numbers["ft", 2, "mine"]) == (0.25, 3)


def test_a_reported_number_must_not_have_the_name_of_a_metric(tmp_path):
    cell = with_runs({("ft", 0): replace(RUNS["ft", 0], extra={"ua": 0.25})})
    rows, (problem,) = cell_numbers(cell.write(tmp_path))
    assert str(problem) == (
        "finding reported: its numbers in cell could not be made: "
        "ValueError: ft: what it reports as ['ua'] is a metric; rename it"
    )
    assert {row.metric for row in rows} >= {"ua", "delta_acc", "avg_gap"}


def test_bins_are_counted_by_seed_and_share_their_edges(tmp_path):
    numbers = CELL.numbers(tmp_path)
    similarity = CELL.neighbours.test_similarity
    low, high = float(similarity.min()), float(similarity.max())
    for seed in range(3):
        expected, _ = np.histogram(similarity[seed], bins=10, range=(low, high))
        found = [numbers["retrain", seed, "bin_count", "test", b] for b in range(10)]
        assert found == expected.tolist()
        assert sum(numbers["retrain", seed, "bin_count", "retain", b] for b in range(10)) == N - 5
    reference = of(numbers, "retrain", None)
    assert (reference["bin_low", "test", 0], reference["bin_high", "test", 9]) == (low, high)
    assert reference["bin_high", "retain", 3] == reference["bin_low", "retain", 4]


def part_of(name: str, values: np.ndarray, forget: np.ndarray = SPLIT.forget) -> np.ndarray:
    """Return the values of retained or of test examples, which are the last axis."""
    return np.delete(values, forget, axis=-1) if name == "retain" else values


def similar(name: str, num_seeds: int = 3) -> np.ndarray:
    """Return the mean similarity over the first seeds."""
    of_train, of_test = CELL.neighbours.train_similarity, CELL.neighbours.test_similarity
    return part_of(name, of_train if name == "retain" else of_test)[:num_seeds].mean(axis=0)


@pytest.mark.parametrize(("name", "num_near"), [("retain", 35 // 4), ("test", 40 // 4)])
def test_near_are_the_most_similar_in_the_mean_over_seeds_and_far_are_all_others(
    tmp_path, name, num_near
):
    numbers = CELL.numbers(tmp_path)
    order = np.argsort(-similar(name))
    label, which = part_of(name, LABELS.train), "test" if name == "test" else "train"
    for part, chosen in (("near", order[:num_near]), ("far", order[num_near:])):
        assert numbers["retrain", None, f"{part}_count", name] == len(chosen)
        for seed in range(3):
            right = [
                part_of(name, getattr(made[run, seed], which).prediction)[chosen] == label[chosen]
                for run, made in (("retrain", RETRAINED), ("ft", RUNS))
            ]
            accuracy = numbers["retrain", seed, f"{part}_accuracy", name]
            assert accuracy == pytest.approx(right[0].mean())
            loss = numbers["ft", seed, f"{part}_loss", name]
            assert loss == pytest.approx(right[0].mean() - right[1].mean())


def test_near_are_those_of_the_seeds_of_the_first_look(tmp_path):
    at_once, looked = CELL.write(tmp_path / "a"), CELL.write(tmp_path / "b", looks=(2, 3))
    two, three = (np.sort(np.argsort(-similar("test", count))[:10]) for count in (2, 3))
    assert two.tolist() != three.tolist()
    assert np.flatnonzero(at_once.near["test"]).tolist() == three.tolist()
    assert np.flatnonzero(looked.near["test"]).tolist() == two.tolist()


def test_test_examples_of_a_class_forgotten_as_a_whole_are_neither_near_nor_far(tmp_path):
    labels = replace(LABELS, train=np.arange(N) % 4, test=np.arange(M) % 4, class_names=(*"abcd",))
    gone = Split(np.arange(0, N, 4), N, (0,), {"class": "a", "fraction": 1.0})
    cell = replace(CELL, labels=labels, split=gone).write(tmp_path)
    kept = np.arange(M) % 4 > 0
    assert (cell.near["test"] | cell.far["test"]).tolist() == kept.tolist()
    assert not (cell.near["test"] & cell.far["test"]).any()
    assert cell.near["test"].sum() == 30 // 4
    assert (cell.near["retain"] ^ cell.far["retain"]).all()


def test_a_test_set_of_the_forgotten_class_alone_has_nobody_near(tmp_path):
    labels = replace(LABELS, test=np.zeros(M, np.int64))
    whole = Split(np.arange(0, N, 2), N, (0,), {"class": "a", "fraction": 1.0})
    numbers = replace(CELL, labels=labels, split=whole).numbers(tmp_path)
    assert numbers["retrain", None, "near_count", "test"] == 0
    assert math.isnan(numbers["ft", 0, "near_loss", "test"])
    assert not math.isnan(numbers["ft", 0, "near_loss", "retain"])


def test_the_sizes_of_the_affected_classes_are_numbers_of_retrain(tmp_path):
    found = of(CELL.numbers(tmp_path), "retrain", None)
    assert {key: v for key, v in found.items() if key[0] in ("train_count", "forget_count")} == {
        ("train_count", "a"): 20.0,
        ("forget_count", "a"): 5.0,
    }


def test_several_affected_classes_are_taken_together(tmp_path):
    both = Split(np.array([0, 1, 2, 4]), N, (0, 1), {"kind": "classes_part", "classes": {}})
    numbers = replace(CELL, split=both).numbers(tmp_path)
    assert numbers["retrain", None, "forget_count", "a"] == 3.0
    assert numbers["retrain", None, "forget_count", "b"] == 1.0
    for seed in range(3):
        for name in ("ua", "ra", "ta"):  # both classes there are, are affected
            assert numbers["ft", seed, f"{name}_affected"] == numbers["ft", seed, name]


def test_the_base_model_is_the_control_original(tmp_path):
    runs = RETRAINED | RUNS | {("original", 0): model(7)}
    numbers = replace(CELL, runs=runs).numbers(tmp_path, base_seeds=(0, 0, 0))
    expected = np.mean(model(7).test.prediction == LABELS.test)
    assert [numbers["original", seed, "ta"] for seed in range(3)] == [expected] * 3
    assert numbers["original", 2, "rte"] == 0
    own = {("original", seed): model(seed, draw=5) for seed in range(3)}
    numbers = replace(CELL, runs=RETRAINED | RUNS | own).numbers(tmp_path / "matched")
    expected = [np.mean(model(seed, draw=5).test.prediction == LABELS.test) for seed in range(3)]
    assert [numbers["original", seed, "ta"] for seed in range(3)] == expected


# Findings of a user's own.

QUESTION = """
from collateral.contract.metrics import Metric
AFTER = {after}
METRICS = {{"{name}_x": Metric("X", "x", "%")}}
"""


def write_finding(folder: Path, name: str, numbers: str, after: tuple[str, ...] = ()) -> None:
    place = folder / "findings" / name
    place.mkdir(parents=True)
    (place / "__init__.py").write_text(QUESTION.format(name=name, after=after))
    head = "from collateral.contract.rows import Row\n"
    (place / "numbers.py").write_text(f"{head}def numbers(cell):\n    {numbers}\n")


@pytest.fixture
def folder(tmp_path):
    with forgotten_after():
        yield tmp_path / "mine"


def test_a_finding_is_asked_because_its_folder_is_there(folder, tmp_path):
    twice = "yield Row('retrain', 'mine_x', 2 * cell.values('retrain', 'ua')[0])"
    write_finding(folder, "mine", twice, after=("accuracy",))
    add_plugins([folder])
    numbers = CELL.numbers(tmp_path)
    assert numbers["retrain", None, "mine_x"] == 2 * numbers["retrain", 0, "ua"]


def test_one_that_raises_is_named_and_the_rest_goes_on(folder, tmp_path):
    write_finding(folder, "broken", "raise KeyError('nothing')")
    write_finding(folder, "follower", "yield Row('ft', 'follower_x', 1.0)", after=("broken",))
    write_finding(folder, "secret", "yield Row('ft', 'other', 1.0)")
    add_plugins([folder])
    rows, problems = cell_numbers(CELL.write(tmp_path))
    assert {(problem.finding, problem.error) for problem in problems} == {
        ("broken", "KeyError: 'nothing'"),
        ("follower", "it needs broken"),
        ("secret", "ValueError: ['other']: not among its METRICS"),
    }
    assert {row.metric for row in rows} >= {"ua", "mia", "avg_gap", "delta_acc"}
    write_problems(tmp_path / "problems.json", problems)
    assert read_problems([tmp_path / "problems.json"]) == problems


def test_findings_that_wait_for_each_other_are_refused(folder):
    write_finding(folder, "one", "yield", after=("two",))
    write_finding(folder, "two", "yield", after=("one",))
    add_plugins([folder])
    with pytest.raises(ValueError, match="one -> two -> one"):
        in_order()


def test_every_finding_comes_after_what_it_needs():
    order = in_order()
    assert sorted(order) == FINDING.names()
    for name in order:
        for other in getattr(sys.modules[f"collateral.findings.{name}"], "AFTER", ()):
            assert order.index(other) < order.index(name)

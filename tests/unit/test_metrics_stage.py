"""A cell of eight training and four test examples, on disk, worked out by hand.

Class 0 is examples 0 to 3, of which the first two are forgotten. Retained examples are in bins 9,
8, 1, 1, 0, 0 of similarity, test examples in bins 9, 5, 0, 0. Retrain makes other mistakes in each
of three seeds; `ft` makes none and remembers the forget set; `ga` diverges in the second seed.
"""

import csv
import math
import shutil
from argparse import ArgumentParser
from pathlib import Path

import numpy as np
import pytest

from collateral.results.dataset import Labels
from collateral.results.support_sizes import Diagnosis
from collateral.results.files import write_json
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import ModelOutputs, Outputs
from collateral.results.split import Split
from collateral.findings.catalogue import metric_of
from collateral.stages import metrics as stage

LABELS = Labels(np.array([0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 1]), ("three", "eight"))
SPLIT = Split(np.array([0, 1]), 8, (0,), {"kind": "class_part", "class": "three", "fraction": 0.5})
TRAIN_SIMILARITY = [1, 1, 0.9, 0.8, 0.1, 0.1, 0, 0]
TEST_SIMILARITY = [1, 0.5, 0, 0]
RETRAINED = [  # predictions of the train and the test set, by seed
    ([0, 1, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1]),  # UA 1/2, RA 1,   TA 1
    ([1, 1, 0, 0, 1, 1, 1, 1], [0, 1, 1, 1]),  # UA 0,   RA 1,   TA 3/4
    ([0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 1, 0]),  # UA 1,   RA 5/6, TA 3/4
]
TRUTH = (LABELS.train, LABELS.test)
SEEDS = (0, 1, 2)
RUNS = ("ga", "ft")
# The base, an epoch of another loop, and two epochs; affected RA is undefined.
HISTORY = """loop,epoch,epoch_ra_affected,epoch_ua,loss
0,,nan,0.5,
1,0,,,0.7
2,0,nan,0.25,0.6
2,1,nan,0.0,0.5
"""


def outputs(predictions: list[int], confidence: list[float]) -> Outputs:
    logits = np.eye(2)[predictions].astype(np.float16)
    return Outputs(logits, np.array(confidence, dtype=np.float32), np.array(predictions))


def write_run(folder: Path, run: str, seed: int, model: ModelOutputs, status: str = "ok") -> None:
    kind = "reference" if run == "retrain" else "method"
    record = {"kind": kind, "run": run, "seed": seed, "status": status, "extra": {}}
    if run == "ft":
        record["extra"] = {"steps": 12}
    phases = {"prepare": 0.5, "unlearn": seed + 1.0}
    cost = {"seconds": phases, "total_seconds": seed + 1.5, "peak_rss_mb": 300.0}
    place = folder / f"seed-{seed}" / run
    write_json(place / "record.json", record)
    write_json(place / "cost.json", cost | {"peak_device_mb": None, "device": "cpu"})
    model.save(place / "outputs.npz")


@pytest.fixture(scope="module")
def cell_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark") / "three-50"
    LABELS.save(folder / "labels.npz")
    SPLIT.save(folder / "split.json", LABELS)
    Neighbours(
        seeds=np.array(SEEDS),
        train_similarity=np.array([TRAIN_SIMILARITY] * 3, dtype=np.float32),
        test_similarity=np.array([TEST_SIMILARITY] * 3, dtype=np.float32),
        class_similarity=np.ones((3, 2), dtype=np.float32),
        shown_set=np.array(["train"]),
        shown_index=np.array([2]),
        shown_images=np.zeros((1, 2, 2, 1), dtype=np.uint8),
    ).save(folder / "neighbours.npz")
    unsure = [0.0] * 4
    for seed, (train, test) in zip(SEEDS, RETRAINED, strict=True):
        # Members at 1, the test set at 0: the attack's boundary is at 0.5.
        model = ModelOutputs(outputs(train, [0.125] * 2 + [1.0] * 6), outputs(test, unsure))
        write_run(folder, "retrain", seed, model)
        # Members at 0.75: the boundary is at 0.375, and the forget set is beyond it.
        ft = ModelOutputs(outputs(TRUTH[0], [0.75] * 8), outputs(TRUTH[1], unsure))
        write_run(folder, "ft", seed, ft)
        (folder / f"seed-{seed}" / "ft" / "history.csv").write_text(HISTORY)
        broken = seed == 1
        ga = ModelOutputs(
            outputs([0] * 8, [math.nan if broken else 0.5] * 8), outputs([0] * 4, unsure)
        )
        write_run(folder, "ga", seed, ga, "diverged" if broken else "collapsed")
    run_stage(folder, SEEDS)
    return folder


def run_stage(folder: Path, seeds: tuple[int, ...], *more: str) -> None:
    parser = ArgumentParser()
    stage.add_arguments(parser)
    words = ["--cell", "three-50", "--cell-folder", folder, "--seeds", *seeds, "--runs", *RUNS]
    words += ["--labels", folder / "labels.npz", "--split", folder / "split.json"]
    words += ["--neighbours", folder / "neighbours.npz"]
    words += ["--out", folder / "metrics.csv", "--costs", folder / "costs.csv"]
    words += ["--tuning", folder / "tuning.csv", "--tracked", "ft", *more]
    stage.run(parser.parse_args([str(word) for word in words]))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def value(cell_folder):
    """Look up a number: run, seed ("" for all), metric."""
    rows = read(cell_folder / "metrics.csv")
    table = {(row["run"], row["seed"], row["metric"]): row["value"] for row in rows}
    return lambda *key: float(table[tuple(map(str, key))])


def test_accuracies_and_attack_of_retrain_are_as_worked_out_by_hand(value):
    assert [value("retrain", seed, "ua") for seed in SEEDS] == [0.5, 0, 1]
    assert [value("retrain", seed, "ra") for seed in SEEDS] == [1, 1, pytest.approx(5 / 6)]
    assert [value("retrain", seed, "ta") for seed in SEEDS] == [1, 0.75, 0.75]
    assert [value("retrain", seed, "ra_affected") for seed in SEEDS] == [1, 1, 0.5]
    assert [value("retrain", seed, "ta_affected") for seed in SEEDS] == [1, 0.5, 1]
    assert [value("retrain", seed, "mia") for seed in SEEDS] == [1, 1, 1]
    assert [value("ft", seed, "mia") for seed in SEEDS] == [0, 0, 0]


def test_deltas_are_retrain_minus_unlearned_of_the_same_seed(value):
    assert [value("ft", seed, "delta_acc:test:05") for seed in SEEDS] == [0, -1, 0]
    assert [value("ft", seed, "delta_acc:test:00") for seed in SEEDS] == [0, 0, -0.5]
    assert [value("ft", seed, "delta_acc:retain:08") for seed in SEEDS] == [0, 0, -1]
    assert [value("ft", seed, "delta_conf:retain:01") for seed in SEEDS] == [0.25] * 3
    assert [value("ft", seed, "disagreement_test") for seed in SEEDS] == [0, 0.25, 0.25]
    assert [value("ft", seed, "disagreement_forget") for seed in SEEDS] == [0.5, 1, 0]


def test_gaps_are_of_means_over_seeds(value):
    # UA 1 - 1/2, RA 1 - 17/18, TA 1 - 5/6, MIA 1 - 0.
    assert value("ft", "", "avg_gap") == pytest.approx(31 / 72)
    # RA 1 - 5/6, UA 1 - 1/2, TA 1 - 5/6.
    assert value("ft", "", "avg_gap_affected") == pytest.approx(5 / 18)


def test_noise_floors_are_as_worked_out_by_hand(value):
    assert value("retrain", "", "floor:ua") == pytest.approx(2 / 3 / math.sqrt(3))
    assert value("retrain", "", "floor:ra") == pytest.approx(1 / 9 / math.sqrt(3))
    assert value("retrain", "", "floor:ta") == pytest.approx(1 / 6 / math.sqrt(3))
    assert value("retrain", "", "floor:mia") == 0
    assert value("retrain", "", "avg_gap") == pytest.approx(17 / 72 / math.sqrt(3))
    # Accuracies 1, 1, 1/2: sample variance 1/12, times 2/3.
    assert value("retrain", "", "floor_acc:test:00") == pytest.approx(math.sqrt(1 / 18))


def test_bins_are_ten_widths_of_the_retained_and_of_the_test_examples(value):
    counts = [value("retrain", 0, f"bin_count:retain:{index:02d}") for index in range(10)]
    assert counts == [2, 2, 0, 0, 0, 0, 0, 0, 1, 1]
    assert value("retrain", "", "bin_high:retain:09") == pytest.approx(0.9)  # float32 on disk
    assert value("retrain", "", "bin_low:test:05") == 0.5


def test_rows_are_sorted_and_complete(cell_folder):
    rows = read(cell_folder / "metrics.csv")
    keys = [(row["run"], int(row["seed"] or -1), row["metric"]) for row in rows]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    # By seed: 11 own numbers, 43 against Retrain, 20 counts. Over all: 40 edges, 40 floors of
    # bins, 7 of metrics, 2 of gaps, 2 sizes of the affected class; 2 gaps a run. And of ft `steps`
    # and 2 numbers by 3 epochs.
    assert len(keys) == 3 * (11 + 20) + 6 * (11 + 43) + 91 + 2 * 2 + 3 * (1 + 6)
    assert {(row["cell"], row["class"], row["fraction"]) for row in rows} == {
        ("three-50", "three", "0.5")
    }
    assert {(row["run"], row["kind"]) for row in rows} == {
        ("retrain", "reference"),
        ("ft", "method"),
        ("ga", "method"),
    }


def test_empty_bins_and_diverged_runs_are_empty_fields(cell_folder):
    rows = read(cell_folder / "metrics.csv")
    empty = [row["value"] for row in rows if row["metric"] == "delta_acc:retain:05"]
    assert empty == [""] * 6
    ga = {(row["seed"], row["status"], row["value"] == "") for row in rows if row["run"] == "ga"}
    assert ("1", "diverged", True) in ga and ("1", "diverged", False) not in ga
    assert ("0", "collapsed", False) in ga
    assert {entry for entry in ga if entry[0] == ""} == {("", "diverged", True)}


def test_the_catalogue_knows_every_number(cell_folder):
    rows = [*read(cell_folder / "metrics.csv"), *read(cell_folder / "costs.csv")]
    names = {row["metric"] for row in rows} - {"steps"}
    assert len(names) > 150
    assert all(metric_of(name).label for name in names)


def test_what_was_tracked_is_counted_from_the_base(cell_folder):
    rows = read(cell_folder / "metrics.csv")
    found = [(r["run"], r["metric"], r["value"]) for r in rows if r["metric"].startswith("epoch_")]
    expected = [("ft", f"epoch_ra_affected:0{epoch}", "") for epoch in range(3)]
    expected += [("ft", f"epoch_ua:0{i}", ua) for i, ua in enumerate(("0.5", "0.25", "0.0"))]
    assert found == expected * 3


def test_costs_are_a_table_of_their_own(cell_folder):
    rows = read(cell_folder / "costs.csv")
    assert "status" not in rows[0]
    ft = {row["metric"]: row["value"] for row in rows if (row["run"], row["seed"]) == ("ft", "2")}
    assert ft == {
        "rte": "3.5",
        "seconds:prepare": "0.5",
        "seconds:unlearn": "3.0",
        "peak_rss_mb": "300.0",
        "peak_device_mb": "",
    }
    assert len(rows) == 9 * 5


def test_a_second_run_writes_the_same_bytes(cell_folder):
    before = (cell_folder / "metrics.csv").read_bytes()
    run_stage(cell_folder, SEEDS)
    assert (cell_folder / "metrics.csv").read_bytes() == before


def test_neighbours_of_other_seeds_are_refused(cell_folder):
    with pytest.raises(ValueError, match=r"neighbours\.npz: of seeds \[0, 1, 2\], not \[0, 1\]"):
        run_stage(cell_folder, (0, 1))


# Support sizes: the teachers of `ft`, sure of the first class and then torn between the two.


@pytest.fixture
def diagnosed(cell_folder, tmp_path):
    """Return the numbers of all seeds, with those of the teachers, and the costs."""
    folder = tmp_path / "three-50"
    shutil.copytree(cell_folder, folder)
    for seed in SEEDS:
        Diagnosis(
            sizes=np.array([2, 5]),
            soft_labels=np.array([[[1, 0]] * 2, [[0.5, 0.5]] * 2], dtype=np.float32),
            top=np.array(2),
            epochs=np.array([1, 4]),
            support_accuracy=np.array([1.0, 0.5]),
            least_similarity=np.array([0.8, 0.0]),
            num_classes=np.array([1, 2]),
            step_rate=np.array(0.5),
            step_edges=np.linspace(0, 0.9, 11),
            step_counts=np.array([2, 2, 0, 0, 0, 0, 0, 0, 1, 1]),
            step_drop=np.array([0.0, 0.0, *[np.nan] * 6, 0.2, 0.6]),
            auto_size=np.array(1),
        ).save(folder / "diagnose" / f"seed-{seed}" / "diagnosis.npz")
        cost = {"total_seconds": 2.5, "seconds": {}}
        write_json(folder / "diagnose" / f"seed-{seed}" / "cost.json", cost)
    run_stage(folder, SEEDS, "--diagnosed", "ft")
    rows = [*read(folder / "metrics.csv"), *read(folder / "costs.csv")]
    table = {(row["run"], row["seed"], row["metric"]): row["value"] for row in rows}
    assert len(table) == len(rows)
    return lambda *key: table[tuple(map(str, key))]


def test_the_teachers_numbers_are_rows_of_their_method(diagnosed):
    for seed in SEEDS:
        assert diagnosed("ft", seed, "support_kl_previous:00002") == ""
        # Of two examples and one more: (1/2, 1/2) against (5/6, 1/6).
        kl = float(diagnosed("ft", seed, "support_kl_previous:00005"))
        assert kl == pytest.approx(0.5 * math.log(1.8))
        assert float(diagnosed("ft", seed, "support_teacher_ua:00002")) == 1
        assert float(diagnosed("ft", seed, "support_drop:09")) == 0.6
        assert diagnosed("ft", seed, "support_drop:05") == ""
        assert float(diagnosed("ft", seed, "support_auto")) == 1
        assert float(diagnosed("ft", seed, "diagnosis_seconds")) == 2.5


def test_retrain_is_looked_at_after_the_fact(diagnosed):
    # Seed 0 predicts one of each class, with equal confidence.
    assert float(diagnosed("ft", 0, "support_kl_retrain:00005")) == pytest.approx(0, abs=1e-6)
    # Seed 1 predicts the second class twice: with e = exp(1), a histogram of (1, e) / (1 + e).
    e = math.e
    p, q = np.array([5, 1]) / 6, (2 * np.array([1, e]) / (1 + e) + 0.5) / 3
    expected = float((p * np.log(p / q)).sum())
    assert float(diagnosed("ft", 1, "support_kl_retrain:00002")) == pytest.approx(expected)


def test_floors_are_numbers_over_all_seeds(diagnosed):
    assert float(diagnosed("ft", "", "support_floor:00005")) == 0
    # Retrain's histograms are (1/2, 1/2), (a, b) and (b, a), with the example that is added.
    a, b = (2 / (1 + math.e) + 0.5) / 3, (2 * math.e / (1 + math.e) + 0.5) / 3
    with_even = a * math.log(2 * a) + b * math.log(2 * b) - 0.5 * math.log(4 * a * b)
    expected = (2 * with_even + 2 * (b - a) * math.log(b / a)) / 6
    assert float(diagnosed("ft", "", "support_floor_retrain")) == pytest.approx(expected)


def test_the_teachers_change_no_other_number(cell_folder, diagnosed):
    for row in read(cell_folder / "metrics.csv"):
        assert diagnosed(row["run"], row["seed"], row["metric"]) == row["value"]

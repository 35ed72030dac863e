"""A cell of eight training and four test examples, on disk, worked out by hand.

Class 0 is examples 0 to 3, of which the first two are forgotten. Retained examples are in bins 9,
8, 1, 1, 0, 0 of similarity, test examples in bins 9, 5, 0, 0. Retrain makes other mistakes in each
of three seeds; `ft` makes none and remembers the forget set; `ga` diverges in the second seed.
"""

import csv
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drive import run_stage
from fake_cell import write_epochs
from sealing import seal

from collateral.contract.rows import ATTACKS
from collateral.findings.metric_index import is_known
from collateral.findings.registry import read_problems
from collateral.jobs.metrics import MetricsJob
from collateral.results.dataset import Labels, Neighbours
from collateral.results.files import write_json
from collateral.results.outputs import ModelOutputs, Outputs, SupportSizes
from collateral.results.split import Split

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


def outputs(predictions: list[int], confidence: list[float]) -> Outputs:
    logits = np.eye(2)[predictions].astype(np.float16)
    return Outputs(logits, np.array(confidence, dtype=np.float32), np.array(predictions))


def write_run(folder: Path, run: str, seed: int, model: ModelOutputs, status: str = "ok") -> None:
    kind = "reference" if run == "retrain" else "method"
    extra = {"steps": 12} if run == "ft" else {}
    record = {"kind": kind, "run": run, "seed": seed, "status": status, "extra": extra}
    phases = {"prepare": 0.5, "unlearn": seed + 1.0}
    cost = {"seconds": phases, "total_seconds": seed + 1.5, "peak_rss_mb": 300.0}
    place = folder / f"seed-{seed}" / run
    write_json(place / "record.json", record)
    by_epoch = {"epoch_seconds": [0.5, 1.0, seed + 1.5]} if run == "ft" else {}
    write_json(place / "cost.json", cost | {"peak_device_mb": None, "device": "cpu"} | by_epoch)
    model.save(place / "outputs.npz")


@pytest.fixture(scope="module")
def cell_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("benchmark") / "three-50"
    LABELS.save(folder.parent / "labels.npz")
    SPLIT.save(folder / "split.json", LABELS, folder.parent / "labels.npz")
    Neighbours(
        seeds=np.array(SEEDS),
        train_similarity=np.array([TRAIN_SIMILARITY] * 3, dtype=np.float32),
        test_similarity=np.array([TEST_SIMILARITY] * 3, dtype=np.float32),
        class_similarity=np.ones((3, 2), dtype=np.float32),
        shown_set=np.array(["train"]),
        shown_index=np.array([2]),
    ).save(folder / "neighbours.npz")
    unsure = [0.0] * 4
    for seed, (train, test) in zip(SEEDS, RETRAINED, strict=True):
        # Members at 1, the test set at 0: the attack's boundary is at 0.5.
        model = ModelOutputs(outputs(train, [0.125] * 2 + [1.0] * 6), outputs(test, unsure))
        write_run(folder, "retrain", seed, model)
        # Members at 0.75: the boundary is at 0.375, and the forget set is beyond it.
        ft = ModelOutputs(outputs(TRUTH[0], [0.75] * 8), outputs(TRUTH[1], unsure))
        write_run(folder, "ft", seed, ft)
        half = ModelOutputs(outputs([0, 1, *TRUTH[0][2:]], [0.75] * 8), ft.test)
        lost = ModelOutputs(outputs(TRUTH[0], [math.nan] * 8), ft.test)
        write_epochs(folder / f"seed-{seed}" / "ft", [ft, half, lost])
        broken = seed == 1
        ga = ModelOutputs(
            outputs([0] * 8, [math.nan if broken else 0.5] * 8), outputs([0] * 4, unsure)
        )
        write_run(folder, "ga", seed, ga, "diverged" if broken else "collapsed")
    seal(folder.parent)
    compute(folder, SEEDS)
    return folder


def compute(folder: Path, seeds: tuple[int, ...], **more: Any) -> None:
    numbers = {"methods": RUNS, "seeds": seeds, "base_seeds": seeds, "attacks": ATTACKS}
    numbers |= {"tracked": ["ft"], **more}
    run_stage(MetricsJob, folder.parent, cell="three-50", numbers=numbers)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def value(cell_folder):
    """Look up a number: run, seed ("" for all), metric, and set and index where there are some."""
    table = by_key(read(cell_folder / "metrics.csv"))
    return lambda *key: float(table[tuple(map(str, key))])


def by_key(rows: list[dict[str, str]]) -> dict[tuple[str, ...], str]:
    table = {
        (row["run"], row["seed"], row["metric"], *filter(None, (row["set"], row["at"]))): row[
            "value"
        ]
        for row in rows
    }
    assert len(table) == len(rows)
    return table


def test_accuracies_and_attack_of_retrain_are_as_worked_out_by_hand(value):
    assert [value("retrain", seed, "ua") for seed in SEEDS] == [0.5, 0, 1]
    assert [value("retrain", seed, "ra") for seed in SEEDS] == [1, 1, pytest.approx(5 / 6)]
    assert [value("retrain", seed, "ta") for seed in SEEDS] == [1, 0.75, 0.75]
    assert [value("retrain", seed, "ra_affected") for seed in SEEDS] == [1, 1, 0.5]
    assert [value("retrain", seed, "ta_affected") for seed in SEEDS] == [1, 0.5, 1]
    assert [value("retrain", seed, "mia") for seed in SEEDS] == [1, 1, 1]
    assert [value("ft", seed, "mia") for seed in SEEDS] == [0, 0, 0]


def test_deltas_are_retrain_minus_unlearned_of_the_same_seed(value):
    assert [value("ft", seed, "delta_acc", "test", 5) for seed in SEEDS] == [0, -1, 0]
    assert [value("ft", seed, "delta_acc", "test", 0) for seed in SEEDS] == [0, 0, -0.5]
    assert [value("ft", seed, "delta_acc", "retain", 8) for seed in SEEDS] == [0, 0, -1]
    assert [value("ft", seed, "delta_conf", "retain", 1) for seed in SEEDS] == [0.25] * 3
    assert [value("ft", seed, "disagreement", "test") for seed in SEEDS] == [0, 0.25, 0.25]
    assert [value("ft", seed, "disagreement", "forget") for seed in SEEDS] == [0.5, 1, 0]


def test_gaps_are_of_means_over_seeds(value):
    # UA 1 - 1/2, RA 1 - 17/18, TA 1 - 5/6, MIA 1 - 0.
    assert value("ft", "", "avg_gap") == pytest.approx(31 / 72)
    # RA 1 - 5/6, UA 1 - 1/2, TA 1 - 5/6.
    assert value("ft", "", "avg_gap_affected") == pytest.approx(5 / 18)


def test_noise_floors_are_as_worked_out_by_hand(value):
    assert value("retrain", "", "floor", "ua") == pytest.approx(2 / 3 / math.sqrt(3))
    assert value("retrain", "", "floor", "ra") == pytest.approx(1 / 9 / math.sqrt(3))
    assert value("retrain", "", "floor", "ta") == pytest.approx(1 / 6 / math.sqrt(3))
    assert value("retrain", "", "floor", "mia") == 0
    assert value("retrain", "", "floor", "avg_gap") == pytest.approx(17 / 72 / math.sqrt(3))
    # Accuracies 1, 1, 1/2: sample variance 1/12, times 2/3.
    assert value("retrain", "", "delta_acc_sd", "test", 0) == pytest.approx(math.sqrt(1 / 18))


def test_bins_are_ten_widths_of_the_retained_and_of_the_test_examples(value):
    counts = [value("retrain", 0, "bin_count", "retain", index) for index in range(10)]
    assert counts == [2, 2, 0, 0, 0, 0, 0, 0, 1, 1]
    assert value("retrain", "", "bin_high", "retain", 9) == pytest.approx(0.9)  # float32 on disk
    assert value("retrain", "", "bin_low", "test", 5) == 0.5


def test_rows_are_sorted_and_complete(cell_folder):
    rows = read(cell_folder / "metrics.csv")
    keys = [
        (row["run"], int(row["seed"] or -1), row["metric"], row["set"], int(row["at"] or -1))
        for row in rows
        if not row["at"] or row["at"].isdecimal()
    ]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    # By seed: 11 own numbers, 4 accuracies near and far, 48 against Retrain, 20 counts. Over all:
    # 40 edges, 4 counts of near and far, 46 of noise, the level of the look, 9 floors and 2 sizes
    # of the affected class, whose index is a name; 2 gaps, an error and the seeds of the verdict a
    # run. And of ft `steps`; by 3 epochs 6 accuracies, MIA, near and far in 2 sets; 4
    # over all seeds. Of Retrain, 3 by seed and 6 over all that gates look at, and the base's UA.
    numbers = (
        3 * (11 + 20 + 4 + 3 + 1)
        + 3
        + 6 * (11 + 4 + 48)
        + 90
        + 4
        + 2 * 4
        + 3 * (1 + 18 + 15)
        + 3 * 4
    )
    # Against Retrain, and Retrain's too: by seed 2 products, 3 measures of 3 sets, AUC and TPR;
    # over all 4 ends of intervals and 3 divergences of laws, and how many non-members there are.
    numbers += 9 * (2 + 9 + 2) + 3 * (4 + 3) + 1
    # Locality, Retrain's too, of two sets: 7 slices and 3 measures by seed, 12 ends of intervals;
    # of a run its slope beyond Retrain's, and the least of it.
    assert len(keys) == numbers + 2 * (9 * (7 + 3) + 3 * 12 + 2 * 2)
    # By name: measures among hard ones; 7 margins, and of a run its verdict, 7 numbers of each of
    # its 7 tests, 7 margins and 8 rates of the judged seeds, and of ft, which did not diverge, 2
    # answers a test; near and far of two sets, 3 measures by seed and one of laws; the near ones of
    # the class in two sets.
    by_name = 2 + 9 + 2 + 2 * (9 * 3 + 3 * 12 + 2 * 2) + 7 + 2 * (50 + 15) + 14 + 4 * (9 * 3 + 3)
    assert len(rows) == len(keys) + by_name
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
    place = ("delta_acc", "retain", "5")
    empty = [r["value"] for r in rows if (r["metric"], r["set"], r["at"]) == place]
    assert empty == [""] * 6
    [verdict] = [row for row in rows if (row["run"], row["metric"]) == ("ga", "verdict")]
    assert (verdict["status"], verdict["at"]) == ("diverged", "collapsed")
    rows.remove(verdict)
    ga = {(row["seed"], row["status"], row["value"] == "") for row in rows if row["run"] == "ga"}
    assert ("1", "diverged", True) in ga and ("1", "diverged", False) not in ga
    assert ("0", "collapsed", False) in ga
    [decided] = [row for row in rows if (row["run"], row["metric"]) == ("ga", "decided_at")]
    rows.remove(decided)
    # Rates of the judged seeds and the margins from Retrain are known all the same.
    rows = [row for row in rows if row["metric"] not in ("judged_rate", "margin")]
    over_seeds = {
        (row["status"], row["value"]) for row in rows if (row["run"], row["seed"]) == ("ga", "")
    }
    assert over_seeds == {("diverged", "")}


def test_the_index_metrics_knows_every_number(cell_folder):
    rows = [*read(cell_folder / "metrics.csv"), *read(cell_folder / "costs.csv")]
    names = {row["metric"] for row in rows} - {"steps"}
    assert len(names) > 35
    assert all(map(is_known, names))


def test_what_was_tracked_is_counted_from_the_base(cell_folder):
    rows = read(cell_folder / "metrics.csv")
    tracked = [row for row in rows if row["metric"].startswith("epoch_") and row["seed"]]
    found = [(row["run"], row["metric"], row["at"], row["value"]) for row in tracked]
    rates = [row for row in found if not row[1].endswith(("_loss", "_mia"))]
    # After the first epoch, half of the forget set is wrong; in the second, the model diverges.
    changed = {"epoch_ua": ("1.0", "0.5", ""), "epoch_ua_affected": ("1.0", "0.5", "")}
    names = sorted(f"epoch_{name}{end}" for name in ("ra", "ua", "ta") for end in ("", "_affected"))
    expected = [
        ("ft", name, str(epoch), value)
        for name in names
        for epoch, value in enumerate(changed.get(name, ("1.0", "1.0", "")))
    ]
    assert rates == expected * 3
    # The confidences of the first two models are those of one that remembers the forget set.
    mia = [row for row in found if row[1] == "epoch_mia"]
    values = enumerate(("0.0", "0.0", ""))
    assert mia == [("ft", "epoch_mia", str(epoch), value) for epoch, value in values] * 3


def test_costs_are_a_table_of_their_own(cell_folder):
    rows = read(cell_folder / "costs.csv")
    assert "status" not in rows[0]
    ft = {key[2:]: value for key, value in by_key(rows).items() if key[:2] == ("ft", "2")}
    assert ft == {
        ("rte",): "3.5",
        ("seconds", "prepare"): "0.5",
        ("seconds", "unlearn"): "3.0",
        ("peak_rss_mb",): "300.0",
        ("peak_device_mb",): "",
        ("on_device", "cpu"): "1.0",
        **{("epoch_seconds", str(i)): s for i, s in enumerate(("0.5", "1.0", "3.5"))},
    }
    # Of ft by 3 epochs, and over seeds by 5 budgets.
    assert len(rows) == 9 * 6 + 2 * 2 + 3 * 3 + 5 * 2
    shares = {row["value"] for row in rows if row["metric"] == "rte_share"}
    assert shares == {"1.0"}  # all take as long as Retrain: it never pays
    assert {row["value"] for row in rows if row["metric"] == "paying_deletions"} == {""}


def test_a_second_run_writes_the_same_bytes(cell_folder):
    before = (cell_folder / "metrics.csv").read_bytes()
    compute(cell_folder, SEEDS)
    assert (cell_folder / "metrics.csv").read_bytes() == before


def test_neighbours_of_other_seeds_are_refused(cell_folder):
    with pytest.raises(ValueError, match=r"neighbours\.npz: of seeds \[0, 1, 2\], not \[0, 1\]"):
        compute(cell_folder, (0, 1))


def test_the_metrics_stage_reports_no_failed_finding(cell_folder):
    assert read_problems([cell_folder / "problems.json"]) == []


# Support sizes: the teachers of `ft`, sure of the first class and then torn between the two.


@pytest.fixture
def taught(cell_folder, tmp_path):
    """Return the numbers of all seeds, with those of the teachers, and the costs."""
    folder = tmp_path / "three-50"
    shutil.copytree(cell_folder.parent, tmp_path, dirs_exist_ok=True)
    for seed in SEEDS:
        SupportSizes(
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
        ).save(folder / "support_size" / f"seed-{seed}" / "support_sizes.npz")
        cost = {"total_seconds": 2.5, "seconds": {}}
        write_json(folder / "support_size" / f"seed-{seed}" / "cost.json", cost)
    seal(tmp_path)
    compute(folder, SEEDS, support_sized=["ft"])
    rows = [*read(folder / "metrics.csv"), *read(folder / "costs.csv")]
    table = by_key(rows)
    return lambda *key: table[tuple(map(str, key))]


def test_the_teachers_numbers_are_rows_of_their_method(taught):
    for seed in SEEDS:
        assert taught("ft", seed, "support_kl_previous", 2) == ""
        # Of two examples and one more: (1/2, 1/2) against (5/6, 1/6).
        kl = float(taught("ft", seed, "support_kl_previous", 5))
        assert kl == pytest.approx(0.5 * math.log(1.8))
        assert float(taught("ft", seed, "support_teacher_ua", 2)) == 1
        assert float(taught("ft", seed, "support_drop", 9)) == 0.6
        assert taught("ft", seed, "support_drop", 5) == ""
        assert float(taught("ft", seed, "support_auto")) == 1
        assert float(taught("ft", seed, "support_size_seconds")) == 2.5


def test_retrain_is_looked_at_after_the_fact(taught):
    # Seed 0 predicts one of each class, with equal confidence.
    assert float(taught("ft", 0, "support_kl_retrain", 5)) == pytest.approx(0, abs=1e-6)
    # Seed 1 predicts the second class twice: with e = exp(1), a histogram of (1, e) / (1 + e).
    e = math.e
    p, q = np.array([5, 1]) / 6, (2 * np.array([1, e]) / (1 + e) + 0.5) / 3
    expected = float((p * np.log(p / q)).sum())
    assert float(taught("ft", 1, "support_kl_retrain", 2)) == pytest.approx(expected)


def test_distances_between_seeds_are_numbers_over_all_seeds(taught):
    assert float(taught("ft", "", "support_kl_seeds", 5)) == 0
    # Retrain's histograms are (1/2, 1/2), (a, b) and (b, a), with the example that is added.
    a, b = (2 / (1 + math.e) + 0.5) / 3, (2 * math.e / (1 + math.e) + 0.5) / 3
    with_even = a * math.log(2 * a) + b * math.log(2 * b) - 0.5 * math.log(4 * a * b)
    expected = (2 * with_even + 2 * (b - a) * math.log(b / a)) / 6
    assert float(taught("ft", "", "support_kl_retrains")) == pytest.approx(expected)


def test_the_teachers_change_no_other_number(cell_folder, taught):
    for key, value in by_key(read(cell_folder / "metrics.csv")).items():
        assert taught(*key) == value

"""A benchmark's results without a model, small enough to write in a test."""

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from collateral.core.dataset import Labels
from collateral.core.files import write_json
from collateral.core.neighbours import Neighbours
from collateral.core.outputs import ModelOutputs, Outputs

RUNS = {"ft": "FT", "ga": "GA", "rl": "RL", "original": "Original"}
KINDS = {"retrain": "reference", "original": "control"}
COLUMNS = ("cell", "class", "fraction", "seed", "run", "kind", "metric", "value", "status")
NUM_EXAMPLES = 8


@dataclass
class FakeCell:
    """Rows of metrics.csv and costs.csv, added one metric at a time."""

    name: str = "digit_3-50"
    class_name: str = "digit_3"
    fraction: str = "0.5"
    metrics: list[dict[str, str]] = field(default_factory=list)
    costs: list[dict[str, str]] = field(default_factory=list)

    def add(self, run: str, metric: str, *values: float, status: str = "ok") -> None:
        """Add one value a seed, counted from 0; None: the run diverged on that seed."""
        rows = self.costs if metric in ("rte", "peak_rss_mb") else self.metrics
        for seed, value in enumerate(values):
            said = "diverged" if value is None else status
            rows.append(self._row(run, metric, value, str(seed)) | {"status": said})

    def add_overall(self, run: str, metric: str, value: float) -> None:
        """Add a number over all seeds."""
        self.metrics.append(self._row(run, metric, value, "") | {"status": "ok"})

    def _row(self, run: str, metric: str, value: float | None, seed: str) -> dict[str, str]:
        return {
            "cell": self.name,
            "class": self.class_name,
            "fraction": self.fraction,
            "seed": seed,
            "run": run,
            "kind": KINDS.get(run, "method"),
            "metric": metric,
            "value": "" if value is None or np.isnan(value) else repr(float(value)),
        }

    def write(self, folder: Path) -> None:
        """Write `folder`/metrics.csv and costs.csv."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows, columns in (
            ("metrics", self.metrics, COLUMNS),
            ("costs", self.costs, COLUMNS[:-1]),
        ):
            with (folder / f"{name}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


def full_cell(
    name: str = "digit_3-50",
    num_seeds: int = 3,
    runs: tuple[str, ...] = ("ft", "ga", "rl", "original"),
    diverged: tuple[str, ...] = (),
) -> FakeCell:
    """Return a cell with every metric; GA loses accuracy near the forget set; bin 02 is empty."""
    class_name, _, percent = name.partition("-")
    cell = FakeCell(name, class_name, str(int(percent) / 100))
    rng = np.random.default_rng(0)
    for place, run in enumerate(("retrain", *runs)):
        cell_run = _Run(cell, run, num_seeds, lost=run in diverged)
        for metric in ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected"):
            cell_run.add(metric, 0.9 - 0.05 * place + 0.01 * rng.random(num_seeds))
        cell.add(run, "rte", *(1.0 + rng.random(num_seeds)))
        cell.add(run, "peak_rss_mb", *(300.0 for _ in range(num_seeds)))
        for gap in ("avg_gap", "avg_gap_affected"):
            cell.add_overall(run, gap, 0.05 * place or 0.01)
        for set_name in ("retain", "test"):
            for b in range(10):
                _add_bin(cell_run, f"{set_name}:{b:02}", b, rng)
    for metric in ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected"):
        if num_seeds > 1:
            cell.add_overall("retrain", f"floor:{metric}", 0.01)
    return cell


def whole_class_cell(num_seeds: int = 3, num_classes: int = 10, **options: Any) -> FakeCell:
    """Return a cell whose last class is gone; a class drops by its own similarity, times a tenth.

    Class i has similarity i / num_classes in the mean; seeds differ by 0.01 in both numbers.
    """
    names = [f"digit_{c}" for c in range(num_classes)]
    cell = full_cell(f"{names[-1]}-100", num_seeds, **options)
    spread = 0.01 * (np.arange(num_seeds) - (num_seeds - 1) / 2)
    runs = dict.fromkeys(row["run"] for row in cell.metrics)
    for c, name in enumerate(names):
        similarity = c / num_classes
        if name != names[-1]:
            cell.add("retrain", f"class_similarity:{name}", *(similarity + spread))
        if num_seeds > 1:
            cell.add_overall("retrain", f"floor_class:{name}", 0.02)
        for run in runs:
            if run != "retrain":
                cell.add(run, f"class_drop:{name}", *(similarity / 10 + spread))
    for run in runs:
        if run != "retrain":
            cell.add_overall(run, "class_slope", 0.1)
            cell.add_overall(run, "class_slope_low", 0.05 if num_seeds > 1 else np.nan)
            cell.add_overall(run, "class_slope_high", 0.15 if num_seeds > 1 else np.nan)
    return cell


def supports_cell(num_seeds: int = 3, sizes: tuple[int, ...] = (20, 50, 80)) -> FakeCell:
    """Return a cell with FT's teachers of three support sizes; a seed more, 0.001 more of all.

    A step costs the top bin 40 points and the one below 30, of 30 examples each: auto takes 60.
    """
    cell = full_cell(num_seeds=num_seeds)
    more = 0.001 * np.arange(num_seeds)
    by_size = {
        "kl_previous": (np.nan, 0.5, 0.02),
        "teacher_ua": (1.0, 0.8, 0.7),
        "top_mass": (0.4, 0.9, 0.95),
        "epochs": (2, 20, 10),
        "accuracy": (1.0, 0.99, 0.99),
        "least_similarity": (0.9, 0.75, 0.5),
        "num_classes": (1, 2, 4),
        "kl_retrain": (1.5, 0.1, 0.2),
    }
    for name, values in by_size.items():
        step = 0 * more if name in ("epochs", "num_classes") else more
        for size, value in zip(sizes, values, strict=True):
            cell.add("ft", f"support_{name}:{size:05d}", *(value + step))
    for size in sizes:
        cell.add_overall("ft", f"support_floor:{size:05d}", 0.05 if num_seeds > 1 else np.nan)
    for b in range(10):
        count = 0 if b == 2 else 30
        drop = {9: 0.4, 8: 0.3, 2: np.nan}.get(b, 0.0)
        for name, value in (("drop", drop), ("bin_low", b / 10), ("bin_high", (b + 1) / 10)):
            cell.add("ft", f"support_{name}:{b:02d}", *(value + more))
        cell.add("ft", f"support_bin_count:{b:02d}", *(count + 0 * more))
    for name, value in (("auto", 60.0), ("step_rate", 0.25), ("size", 50.0)):
        cell.add("ft", f"support_{name}", *(value + 0 * more))
    cell.add_overall("ft", "support_floor_retrain", 0.01 if num_seeds > 1 else np.nan)
    return cell


@dataclass
class _Run:
    cell: FakeCell
    name: str
    num_seeds: int
    lost: bool

    def add(self, metric: str, values: np.ndarray) -> None:
        """Add a metric; a lost run keeps its first seed alone."""
        kept = [v if i == 0 or not self.lost else None for i, v in enumerate(values.tolist())]
        self.cell.add(self.name, metric, *kept)


def _add_bin(run: _Run, place: str, b: int, rng: np.random.Generator) -> None:
    count = 0 if b == 2 else 30
    if run.name != "retrain":
        height = 0.4 if run.name == "ga" and b == 9 else 0.0
        noise = 0.01 * rng.standard_normal(run.num_seeds)
        values = height + noise if count else np.full(run.num_seeds, np.nan)
        run.add(f"delta_acc:{place}", values)
        run.add(f"delta_conf:{place}", values / 2)
        return
    run.add(f"bin_count:{place}", np.full(run.num_seeds, float(count)))
    run.cell.add_overall("retrain", f"bin_low:{place}", b / 10)
    run.cell.add_overall("retrain", f"bin_high:{place}", (b + 1) / 10)
    if run.num_seeds > 1:
        floor = 0.02 if count else np.nan
        run.cell.add_overall("retrain", f"floor_acc:{place}", floor)
        run.cell.add_overall("retrain", f"floor_conf:{place}", floor)


def write_models(
    benchmark: Path, cell: str, confidence: dict[str, list[float]], num_seeds: int
) -> None:
    """Write labels, neighbours, records and outputs of eight train and eight test examples.

    `confidence` is that of each run on the test set; on the train set it is 1.
    """
    index = np.arange(NUM_EXAMPLES)
    names = ("digit_3", "digit_8")
    Labels(index % 2, index % 2, names).save(benchmark / "labels.npz")
    Neighbours(
        seeds=np.arange(num_seeds),
        train_similarity=np.ones((num_seeds, NUM_EXAMPLES), dtype=np.float32),
        test_similarity=np.ones((num_seeds, NUM_EXAMPLES), dtype=np.float32),
        class_similarity=np.ones((num_seeds, len(names)), dtype=np.float32),
        shown_set=np.array(["train"] * 4 + ["test"] * NUM_EXAMPLES + ["forget"] * 2),
        shown_index=np.concatenate([index[:4], index, index[6:]]),
        shown_images=np.full((14, 3, 3, 1), 100, dtype=np.uint8),
    ).save(benchmark / cell / "neighbours.npz")
    for seed in range(num_seeds):
        for run, values in confidence.items():
            folder = benchmark / cell / f"seed-{seed}" / run
            ModelOutputs(_outputs([1.0] * NUM_EXAMPLES), _outputs(values)).save(
                folder / "outputs.npz"
            )
            record = {"run": run, "method": run, "params": {"lr": 0.1}, "versions": {"numpy": "2"}}
            write_json(folder / "record.json", record)


def _outputs(confidence: list[float]) -> Outputs:
    values = np.array(confidence, dtype=np.float32)
    own = np.arange(NUM_EXAMPLES) % 2
    logits = np.zeros((NUM_EXAMPLES, 2), dtype=np.float16)
    return Outputs(logits, values, np.where(values < 0.5, 1 - own, own))

"""Rows of metrics.csv and costs.csv without models, small enough to write in a test."""

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from fake_cell import checked, fake_neighbours
from sealing import seal

from collateral.contract.rows import At
from collateral.findings.metric_index import find_metric
from collateral.findings.registry import write_problems
from collateral.results import layout
from collateral.results.dataset import Labels, Pictures
from collateral.results.files import write_json
from collateral.results.gates import write_gates
from collateral.results.outputs import ModelOutputs, Outputs
from collateral.results.plan import BenchmarkPlan, CellPlan
from collateral.results.split import Split
from collateral.results.table import COLUMNS, COST_COLUMNS, BenchmarkTable, CellTable, read_tables

RUNS = {"ft": "FT", "ga": "GA", "rl": "RL", "original": "Original"}
KINDS = {"retrain": "reference", "original": "control", "ideal": "control"}
RATES = ("ua", "ra", "ta", "mia", "ra_affected", "ua_affected", "ta_affected")
NUM_EXAMPLES = 8
# Numbers of a sound data set for the sanity checks.
SOUND = {
    "test_copies": 0,
    "test_copies_forgotten": 0,
    "pixel_range": 255,
    "constant_images": 0,
    "guessing": 0.1,
    "guessing_by_chance": 0.12,
}


@dataclass
class FakeCell:
    """Rows of metrics.csv and costs.csv, added one metric at a time."""

    name: str = "digit_3-50"
    class_name: str = "digit_3"
    fraction: str = "0.5"
    metrics: list[dict[str, str]] = field(default_factory=list)
    costs: list[dict[str, str]] = field(default_factory=list)
    seeds: tuple[int, ...] = ()  # Counted from 0 where none are given.

    def add(
        self,
        run: str,
        metric: str,
        *values: float,
        status: str = "ok",
        set: str = "",
        at: At = None,
    ) -> None:
        """Add one value per seed; None means that the run diverged on that seed."""
        rows = self.costs if find_metric(metric).is_cost else self.metrics
        for seed, value in zip(self.seeds or range(len(values)), values, strict=True):
            said = "diverged" if value is None else status
            rows.append(self._row(run, metric, value, str(seed), set, at) | {"status": said})

    def add_overall(
        self, run: str, metric: str, value: float, set: str = "", at: At = None
    ) -> None:
        """Add a number over all seeds."""
        rows = self.costs if find_metric(metric).is_cost else self.metrics
        rows.append(self._row(run, metric, value, "", set, at) | {"status": "ok"})

    def _row(
        self, run: str, metric: str, value: float | None, seed: str, set: str, at: At
    ) -> dict[str, str]:
        return {
            "set": set,
            "at": "" if at is None else str(at),
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
            ("costs", self.costs, COST_COLUMNS),
        ):
            with (folder / f"{name}.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)
        seal(folder)


def join_cells(*cells: FakeCell) -> FakeCell:
    """Return the rows of some cells as those of one."""
    joined = FakeCell()
    for cell in cells:
        joined.metrics += cell.metrics
        joined.costs += cell.costs
    return joined


def read_cells(folder: Path, *cells: FakeCell, plan: BenchmarkPlan | None = None) -> BenchmarkTable:
    """Write the rows of some cells and their checks; read them as tables, figures and page do."""
    join_cells(*cells).write(folder)
    plan = plan or BenchmarkPlan(RUNS, "matched", {cell.name: CellPlan() for cell in cells})
    table = checked(read_tables(plan, folder / "metrics.csv", folder / "costs.csv"))
    write_gates(folder / layout.GATES, table.gates)
    seal(folder)
    return table


def read_cell(folder: Path, cell: FakeCell, plan: BenchmarkPlan | None = None) -> CellTable:
    """Write a cell and read it."""
    return read_cells(folder, cell, plan=plan).cells[0]


def write_cells(folder: Path, plan: BenchmarkPlan, *cells: FakeCell) -> None:
    """Write what the metrics jobs of some cells leave, and the plan."""
    for cell in cells:
        kinds = {row["run"]: row["kind"] for row in cell.metrics}
        runs = {
            f"{kind}s": [r for r in kinds if kinds[r] == kind] for kind in ("method", "control")
        }
        about = {"cell": cell.name, "options": runs}
        write_json(folder / cell.name / layout.METRICS_RECORD, about)
        write_problems(folder / cell.name / layout.PROBLEMS, [])
        cell.write(folder / cell.name)
    plan.save(folder / layout.PLAN)
    seal(folder)


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
    for metric, value in SOUND.items():
        cell.add_overall("retrain", metric, value)
    for metric in RATES if num_seeds > 1 else ():
        cell.add_overall("retrain", "floor", 0.01, at=metric)
    for place, run in enumerate(("retrain", *runs)):
        cell_run = _Run(cell, run, num_seeds, lost=run in diverged)
        for metric in RATES:
            cell_run.add(metric, 0.9 - 0.05 * place + 0.01 * rng.random(num_seeds))
        if run in ("retrain", "original"):
            cell_run.add("known_ta", np.full(num_seeds, 0.8))
        cell.add(run, "rte", *(1.0 + rng.random(num_seeds)))
        cell.add(run, "peak_rss_mb", *(300.0 for _ in range(num_seeds)))
        _add_gaps(cell_run, place)
        for set_name in ("retain", "test"):
            for b in range(10):
                _add_bin(cell_run, set_name, b, rng)
            _add_near_and_far(cell_run, set_name)
    return cell


@dataclass(frozen=True)
class FakeCourse:
    """A tracked run, by epoch from the base on: its gap, and its seconds; Retrain takes 100."""

    gap: tuple[float, ...]
    seconds: tuple[float, ...]
    status: str = "ok"


# RL comes down in steps of a second, GA is quick and bad, FT hardly moves, IU has one step.
COURSES = {
    "ft": FakeCourse((0.4, 0.38, 0.36, 0.35), (0, 4, 8, 12)),
    "ga": FakeCourse((0.4, 0.39), (0, 0.5)),
    "rl": FakeCourse((0.4, 0.2, 0.1, 0.15), (1, 2, 3, 4)),
}


def tracked_cell(num_seeds: int = 3, **courses: FakeCourse) -> FakeCell:
    """Return a cell whose runs are tracked: error and damage are the gap, and half of it."""
    cell = FakeCell()
    for run in ("retrain", "original", *(courses or COURSES)):
        status = courses[run].status if run in courses else "ok"
        cell.add(run, "ua", *[0.5] * num_seeds, status=status)
    cell.add("retrain", "rte", *(100.0 + seed - (num_seeds - 1) / 2 for seed in range(num_seeds)))
    if num_seeds > 1:
        cell.add_overall("retrain", "floor", 0.01, at="avg_gap")
        cell.add_overall("retrain", "damage_sd", 0.01, "retain")
    for run, course in (courses or COURSES).items():
        _add_course(cell, run, course, num_seeds)
    return cell


def _add_course(cell: FakeCell, run: str, course: FakeCourse, num_seeds: int) -> None:
    parts = {"avg_gap": 1, "avg_gap_affected": 1, "forgetting_error": 1, "damage": 0.5}
    for epoch, (gap, seconds) in enumerate(zip(course.gap, course.seconds, strict=True)):
        cell.add(run, "epoch_seconds", *[seconds] * num_seeds, at=epoch)
        for name, factor in parts.items():
            cell.add_overall(run, f"epoch_{name}", factor * gap, at=epoch)
    for share in (1, 2, 5, 10, 20):
        epoch = sum(seconds <= share for seconds in course.seconds[1:])
        cell.add_overall(run, "budget_gap", course.gap[epoch] if epoch else np.nan, at=share)
        cell.add_overall(run, "budget_epoch", epoch or np.nan, at=share)


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
            cell.add("retrain", "class_similarity", *(similarity + spread), at=name)
        if num_seeds > 1:
            cell.add_overall("retrain", "class_drop_sd", 0.02, at=name)
        for run in runs:
            if run != "retrain":
                cell.add(run, "class_drop", *(similarity / 10 + spread), at=name)
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
            cell.add("ft", f"support_{name}", *(value + step), at=size)
    for size in sizes:
        cell.add_overall("ft", "support_kl_seeds", 0.05 if num_seeds > 1 else np.nan, at=size)
    for b in range(10):
        count = 0 if b == 2 else 30
        drop = {9: 0.4, 8: 0.3, 2: np.nan}.get(b, 0.0)
        for name, value in (("drop", drop), ("bin_low", b / 10), ("bin_high", (b + 1) / 10)):
            cell.add("ft", f"support_{name}", *(value + more), at=b)
        cell.add("ft", "support_bin_count", *(count + 0 * more), at=b)
    for name, value in (("auto", 60.0), ("step_rate", 0.25), ("size", 50.0)):
        cell.add("ft", f"support_{name}", *(value + 0 * more))
    cell.add_overall("ft", "support_kl_retrains", 0.01 if num_seeds > 1 else np.nan)
    return cell


@dataclass
class _Run:
    cell: FakeCell
    name: str
    num_seeds: int
    lost: bool

    def add(self, metric: str, values: np.ndarray, set: str = "", at: At = None) -> None:
        """Add a metric; a lost run keeps its first seed alone."""
        kept = [v if i == 0 or not self.lost else None for i, v in enumerate(values.tolist())]
        self.cell.add(self.name, metric, *kept, set=set, at=at)


def _add_gaps(run: _Run, place: int) -> None:
    """Add the gaps of a run; of Retrain, their floors."""
    for gap in ("avg_gap", "avg_gap_affected"):
        if place:
            run.cell.add_overall(run.name, gap, 0.05 * place)
        elif run.num_seeds > 1:
            run.cell.add_overall(run.name, "floor", 0.01, at=gap)


def _add_bin(run: _Run, name: str, b: int, rng: np.random.Generator) -> None:
    count = 0 if b == 2 else 30
    if run.name != "retrain":
        height = 0.4 if run.name == "ga" and b == 9 else 0.0
        noise = 0.01 * rng.standard_normal(run.num_seeds)
        values = height + noise if count else np.full(run.num_seeds, np.nan)
        run.add("delta_acc", values, name, b)
        run.add("delta_conf", values / 2, name, b)
        return
    run.add("bin_count", np.full(run.num_seeds, float(count)), name, b)
    run.cell.add_overall("retrain", "bin_low", b / 10, name, b)
    run.cell.add_overall("retrain", "bin_high", (b + 1) / 10, name, b)
    if run.num_seeds > 1:
        noise_sd = 0.02 if count else np.nan
        run.cell.add_overall("retrain", "delta_acc_sd", noise_sd, name, b)
        run.cell.add_overall("retrain", "delta_conf_sd", noise_sd, name, b)


def _add_near_and_far(run: _Run, name: str) -> None:
    """Add the loss on the top bin of 30, and on the other 240; GA's is 40 points near, none far."""
    if run.name == "retrain":
        for metric, count in (("near_count", 30.0), ("far_count", 240.0)):
            run.cell.add_overall("retrain", metric, count, name)
        if run.num_seeds > 1:
            run.cell.add_overall("retrain", "near_loss_sd", 0.02, name)
            run.cell.add_overall("retrain", "far_loss_sd", 0.01, name)
        return
    near = 0.4 if run.name == "ga" else 0.0
    run.add("near_loss", near + 0.001 * np.arange(run.num_seeds), name)
    run.add("far_loss", 0.001 * np.arange(run.num_seeds), name)


def write_models(
    benchmark: Path, cell: str, confidence: dict[str, list[float]], num_seeds: int
) -> None:
    """Write labels, neighbours, records and outputs of eight train and eight test examples.

    `confidence` is that of each run on the test set; on the train set it is 1.
    """
    index = np.arange(NUM_EXAMPLES)
    names = ("digit_3", "digit_8")
    labels = Labels(index % 2, index % 2, names)
    labels.save(benchmark / "labels.npz")
    fake_neighbours(
        range(num_seeds),
        np.ones(NUM_EXAMPLES),
        np.ones(NUM_EXAMPLES),
        len(names),
        shown_set=np.array(["train"] * 4 + ["test"] * NUM_EXAMPLES + ["forget"] * 2),
        shown_index=np.concatenate([index[:4], index, index[6:]]),
        shown_nearest=np.array([12] * 12 + [12, 13]),
    ).save(benchmark / cell / "neighbours.npz")
    images = np.full((14, 3, 3, 1), 100, dtype=np.uint8)
    Pictures("all", np.arange(14), images).save(benchmark / cell / "pictures.npz")
    for seed in range(num_seeds):
        for run, values in confidence.items():
            folder = benchmark / cell / f"seed-{seed}" / run
            ModelOutputs(_outputs([1.0] * NUM_EXAMPLES), _outputs(values)).save(
                folder / "outputs.npz"
            )
            record = {"run": run, "method": run, "params": {"lr": 0.1}, "versions": {"numpy": "2"}}
            write_json(folder / "record.json", record)
    seal(benchmark)
    chosen = {"kind": "class_part", "class": "digit_3", "fraction": 0.5}
    split = Split(index[6:], NUM_EXAMPLES, (0, 1), chosen)
    split.save(benchmark / cell / "split.json", labels, benchmark / "labels.npz")


def _outputs(confidence: list[float]) -> Outputs:
    values = np.array(confidence, dtype=np.float32)
    own = np.arange(NUM_EXAMPLES) % 2
    logits = np.zeros((NUM_EXAMPLES, 2), dtype=np.float16)
    return Outputs(logits, values, np.where(values < 0.5, 1 - own, own))

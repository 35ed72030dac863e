"""Cells of made-up model outputs on disk, the one builder of them.

`FakeCell` writes any arrays. `counted` makes a cell from numbers of wrong predictions per run and
seed, `tracked` one with a run that is tracked by epoch. Rows of metrics without outputs:
fake_results.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sealing import seal

from collateral.contract.rows import ATTACKS, Row
from collateral.findings.checks import run_checks
from collateral.findings.metric_index import find_metric
from collateral.findings.registry import cell_numbers
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.dataset import Labels, Neighbours
from collateral.results.files import write_json
from collateral.results.outputs import Epochs, ModelOutputs, Outputs, keep_outputs
from collateral.results.plan import BenchmarkPlan
from collateral.results.split import Split
from collateral.results.table import (
    COLUMNS,
    COST_COLUMNS,
    BenchmarkTable,
    CellTable,
    read_tables,
    write_cell,
)

COST = {
    "seconds": {"unlearn": 1.5},
    "total_seconds": 1.5,
    "peak_rss_mb": 300,
    "peak_device_mb": None,
}
Numbers = dict[tuple[Any, ...], float]  # By run, seed, metric, and where given set and index.


@dataclass(frozen=True)
class FakeRun:
    """Model outputs of one run and seed, and how the run ended."""

    train: Outputs
    test: Outputs
    status: str = "ok"
    extra: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None  # if None, those of COST
    device: str | None = None
    epochs: Sequence[ModelOutputs] = ()  # Outputs by epoch of a tracked run, the base first.


@dataclass(frozen=True)
class FakeCell:
    """A cell of made-up runs; `runs` is by name and seed."""

    labels: Labels
    split: Split
    neighbours: Neighbours
    runs: Mapping[tuple[str, int], FakeRun]
    name: str = "cell"

    def write(self, folder: Path, **more: Any) -> CellResults:
        """Write the cell into a folder; return its results as findings read them."""
        self.labels.save(folder / layout.LABELS)
        split = folder / layout.SPLIT.format(cell=self.name)
        self.split.save(split, self.labels, folder / layout.LABELS)
        self.neighbours.save(folder / layout.NEIGHBOURS.format(cell=self.name))
        for (run, seed), made in self.runs.items():
            place = folder / layout.RUN.format(cell=self.name, run=run, seed=seed)
            if run == layout.ORIGINAL:
                place = folder / layout.BASE.format(seed=seed)
            ModelOutputs(made.train, made.test).save(place / layout.OUTPUTS)
            record = {"run": run, "status": made.status, "extra": dict(made.extra)}
            write_json(place / layout.RECORD, record)
            by_epoch = {"epoch_seconds": [float(i) for i in range(len(made.epochs))]}
            cost = COST | ({} if made.seconds is None else {"total_seconds": made.seconds})
            cost |= {"device": made.device} if made.device else {}
            write_json(place / layout.COST, cost | (by_epoch if made.epochs else {}))
            if made.epochs:
                write_epochs(place, made.epochs)
        seal(folder)
        seeds = tuple(self.neighbours.seeds.tolist())
        reference = more.get("reference", layout.RETRAIN)
        names = dict.fromkeys(run for run, _ in self.runs if run != reference)
        controls = [name for name in names if name == layout.ORIGINAL]
        methods = [name for name in names if name not in controls]
        about = {"base_seeds": seeds, "attacks": ATTACKS, "methods": methods, "controls": controls}
        return CellResults(folder=folder, cell=self.name, seeds=seeds, **{**about, **more})

    def rows(self, folder: Path, **more: Any) -> list[Row]:
        """Return all rows of all findings, none of which may fail."""
        rows, problems = cell_numbers(self.write(folder, **more))
        assert problems == [], "a finding raised: " + "; ".join(map(str, problems))
        return rows

    def numbers(self, folder: Path, **more: Any) -> Numbers:
        """Return all numbers of all findings."""
        rows = self.rows(folder, **more)
        found = {key_of(row): row.value for row in rows}
        assert len(found) == len(rows) > 0
        return found


def write_epochs(place: Path, models: Sequence[ModelOutputs]) -> None:
    """Write the outputs by epoch of a tracked run."""
    Epochs.stack([keep_outputs(model) for model in models]).save(place / layout.EPOCHS)


def key_of(row: Row) -> tuple[Any, ...]:
    """Return run, seed and metric of a row, and set and index where it has them."""
    set_and_at = (part for part in (row.set or None, row.at) if part is not None)
    return (row.run, row.seed, row.metric, *set_and_at)


def fake_neighbours(
    seeds: Sequence[int], train: np.ndarray, test: np.ndarray, num_classes: int = 2, **more: Any
) -> Neighbours:
    """Return neighbours with the same similarities for every seed; none are shown by default."""
    nothing = np.array([], dtype=np.int64)
    return Neighbours(
        seeds=np.array(seeds),
        train_similarity=np.tile(train, (len(seeds), 1)).astype(np.float32),
        test_similarity=np.tile(test, (len(seeds), 1)).astype(np.float32),
        class_similarity=np.ones((len(seeds), num_classes), np.float32),
        **{"shown_set": nothing.astype(str), "shown_index": nothing, **more},
    )


# Cells of so many wrong predictions.

FORGET, NEAR, FAR, TEST = 50, 40, 160, 100
NUM_TRAIN = FORGET + NEAR + FAR
# The forgotten and the near examples are of the affected class, the far ones are not.
LABELS = Labels(np.repeat([0, 1], [FORGET + NEAR, FAR]), np.repeat([0, 1], TEST // 2), ("a", "b"))


@dataclass(frozen=True)
class Wrong:
    """Wrong predictions of 50 forget, 40 near, 160 far and 100 test examples, by seed."""

    forget: tuple[int, ...]
    near: tuple[int, ...]
    far: tuple[int, ...]
    test: tuple[int, ...]
    status: tuple[str, ...] = ()

    def run(self, seed: int) -> FakeRun:
        """Return the outputs of one seed."""
        parts = ((FORGET, self.forget), (NEAR, self.near), (FAR, self.far))
        train = np.concatenate([_is_wrong(of, count[seed]) for of, count in parts])
        status = self.status[seed] if self.status else "ok"
        test = _is_wrong(TEST, self.test[seed])
        return FakeRun(_outputs(train, LABELS.train), _outputs(test, LABELS.test), status)


def counted(runs: Mapping[str, Wrong]) -> FakeCell:
    """Return a cell of these runs; near examples have similarity 0.95, far ones 0 to 0.5."""
    num_seeds = len(next(iter(runs.values())).forget)
    train = np.repeat([1.0, 0.95], [FORGET, NEAR])
    train = np.concatenate([train, np.linspace(0, 0.5, FAR)])
    test = np.concatenate([np.full(TEST // 2, 0.95), np.linspace(0, 0.5, TEST // 2)])
    neighbours = fake_neighbours(range(num_seeds), train, test)
    made = {(run, seed): w.run(seed) for run, w in runs.items() for seed in range(num_seeds)}
    forget = Split(np.arange(FORGET), NUM_TRAIN, (0,), {"class": "a", "fraction": 0.2})
    return FakeCell(LABELS, forget, neighbours, made)


def table_of(
    folder: Path,
    runs: Mapping[str, Wrong],
    labels: Labels = LABELS,
    split: Split | None = None,
    **more: Any,
) -> CellTable:
    """Return the numbers of a counted cell as tables and figures read them."""
    cell = replace(counted(runs), labels=labels)
    cell = replace(cell, split=split) if split else cell
    results, rows = cell.write(folder, **more), cell.rows(folder, **more)
    names = {"metrics": COLUMNS, "costs": COST_COLUMNS}
    for name, columns in names.items():
        own = [row for row in rows if find_metric(row.metric).is_cost == (name == "costs")]
        write_cell(folder / f"{name}.csv", results, own, columns)
    seal(folder)
    names_of_runs = {run: run.upper() for run in runs if run != "retrain"}
    paths = [folder / f"{name}.csv" for name in names]
    return checked(read_tables(BenchmarkPlan(names_of_runs), *paths)).cells[0]


def checked(table: BenchmarkTable) -> BenchmarkTable:
    """Return the table with the outcomes of its checks, as gather writes them to gates.json."""
    return table.with_gates(run_checks(table)[0])


def _is_wrong(of: int, count: int) -> np.ndarray:
    return np.arange(of) < count


def _outputs(is_wrong: np.ndarray, label: np.ndarray) -> Outputs:
    confidence = np.where(is_wrong, 0.3, 0.8).astype(np.float32)
    of_first = np.where(label == 0, confidence, 1 - confidence)
    logits = np.log(np.column_stack([of_first, 1 - of_first])).astype(np.float16)
    return Outputs(logits, confidence, np.where(is_wrong, 1 - label, label))


# Cells with a tracked run: of 80 examples the first 10 are forgotten, the next 20 are near.

NUM, FORGOTTEN = 80, np.arange(10)
TWO_CLASSES = Labels(np.repeat([0, 1], NUM // 2), np.repeat([0, 1], NUM // 2), ("a", "b"))
TRACKED_SPLIT = Split(FORGOTTEN, NUM, (0,), {"class": "a"})
IS_NEAR = np.isin(np.arange(NUM), np.arange(10, 30))


def tracked_model(
    wrong_near: int = 0, wrong_far: int = 0, forgotten: float = 1.0, member: float = 1.0
) -> ModelOutputs:
    """Return outputs with so many wrong retained examples, and these confidences on train data."""
    right = TWO_CLASSES.train.copy()
    near, far = np.flatnonzero(IS_NEAR), np.flatnonzero(~IS_NEAR)[len(FORGOTTEN) :]
    wrong = [*near[:wrong_near], *far[:wrong_far]]
    right[wrong] = 1 - right[wrong]
    confidence = np.full(NUM, member, dtype=np.float32)
    confidence[FORGOTTEN] = forgotten
    train = Outputs(np.eye(2)[right].astype(np.float16), confidence, right)
    unseen = np.zeros(NUM, dtype=np.float32)
    test = Outputs(np.eye(2)[TWO_CLASSES.test].astype(np.float16), unseen, TWO_CLASSES.test)
    return ModelOutputs(train, test)


BASE, FIRST, SECOND = (
    tracked_model(),
    tracked_model(10, 5, forgotten=0.2),
    tracked_model(4, 5, forgotten=0.4),
)
LOST = tracked_model(forgotten=np.nan, member=np.nan)


def tracked(*epochs: ModelOutputs, seeds: tuple[int, ...] = (0,)) -> FakeCell:
    """Return a cell in which `ft` is tracked; `ga` has the same last outputs and is not tracked."""
    similarity = np.where(IS_NEAR, 0.95, 0.05)
    neighbours = fake_neighbours(seeds, similarity, similarity)
    reference, last = tracked_model(2, 1, forgotten=0.2), epochs[-1]
    runs = {("retrain", seed): FakeRun(reference.train, reference.test) for seed in seeds}
    runs |= {("ft", seed): FakeRun(last.train, last.test, epochs=epochs) for seed in seeds}
    runs |= {("ga", seed): FakeRun(last.train, last.test) for seed in seeds}
    return FakeCell(TWO_CLASSES, TRACKED_SPLIT, neighbours, runs)

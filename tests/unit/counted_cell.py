"""A cell made of how many answers are wrong, run by run and seed by seed: all findings of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fake_cell import FakeCell, FakeRun
from sealing import seal

from collateral.findings.metric_index import find_metric
from collateral.results.dataset import Labels
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import Outputs
from collateral.results.plan import BenchmarkPlan
from collateral.results.split import Split
from collateral.results.table import COLUMNS, COST_COLUMNS, CellTable, read_tables, write_cell

FORGET, NEAR, FAR, TEST = 50, 40, 160, 100
NUM_TRAIN = FORGET + NEAR + FAR
LABELS = Labels(np.zeros(NUM_TRAIN, np.int64), np.zeros(TEST, np.int64), ("a", "b"))


@dataclass(frozen=True)
class Wrong:
    """How many of 50 forgotten, 40 near, 160 far and 100 test examples are wrong, by seed."""

    forget: tuple[int, ...]
    near: tuple[int, ...]
    far: tuple[int, ...]
    test: tuple[int, ...]
    status: tuple[str, ...] = ()

    def run(self, seed: int) -> FakeRun:
        """Return the answers of one seed."""
        parts = ((FORGET, self.forget), (NEAR, self.near), (FAR, self.far))
        train = np.concatenate([_is_wrong(of, count[seed]) for of, count in parts])
        status = self.status[seed] if self.status else "ok"
        return FakeRun(_outputs(train), _outputs(_is_wrong(TEST, self.test[seed])), status)


def counted(runs: Mapping[str, Wrong]) -> FakeCell:
    """Return a cell of these runs; near ones have similarity 0.95, far ones 0 to 0.5."""
    num_seeds = len(next(iter(runs.values())).forget)
    far, nothing = np.linspace(0, 0.5, FAR), np.array([], dtype=np.int64)
    train = np.concatenate([np.full(FORGET, 1.0), np.full(NEAR, 0.95), far])
    test = np.concatenate([np.full(TEST // 2, 0.95), np.linspace(0, 0.5, TEST // 2)])
    neighbours = Neighbours(
        seeds=np.arange(num_seeds),
        train_similarity=np.tile(train, (num_seeds, 1)).astype(np.float32),
        test_similarity=np.tile(test, (num_seeds, 1)).astype(np.float32),
        class_similarity=np.ones((num_seeds, 2), np.float32),
        shown_set=nothing.astype(str),
        shown_index=nothing,
    )
    made = {(run, seed): w.run(seed) for run, w in runs.items() for seed in range(num_seeds)}
    forget = Split(np.arange(FORGET), NUM_TRAIN, (0,), {"class": "a", "fraction": 0.2})
    return FakeCell(LABELS, forget, neighbours, made)


def table_of(folder: Path, runs: Mapping[str, Wrong]) -> CellTable:
    """Return the cell's numbers as tables and figures read them."""
    cell = counted(runs)
    results, rows = cell.write(folder), cell.rows(folder)
    names = {"metrics": COLUMNS, "costs": COST_COLUMNS}
    for name, columns in names.items():
        own = [row for row in rows if find_metric(row.metric).is_cost == (name == "costs")]
        write_cell(folder / f"{name}.csv", results, own, columns)
    seal(folder)
    labels = {run: run.upper() for run in runs if run != "retrain"}
    paths = [folder / f"{name}.csv" for name in names]
    return read_tables(BenchmarkPlan(labels), *paths).cells[0]


def _is_wrong(of: int, count: int) -> np.ndarray:
    return np.arange(of) < count


def _outputs(is_wrong: np.ndarray) -> Outputs:
    confidence = np.where(is_wrong, 0.3, 0.8).astype(np.float32)
    logits = np.log(np.column_stack([confidence, 1 - confidence])).astype(np.float16)
    return Outputs(logits, confidence, is_wrong.astype(np.int64))

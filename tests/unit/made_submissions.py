"""A small benchmark whose models are kin as real ones are, and submissions to it.

Of each seed, base and Retrain have logits of their own beside what all models share; a method
changes those of its base. Seeds are not their places, classes are of unequal size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from fake_cell import FakeCell, FakeRun, fake_neighbours

from collateral.contract.rows import ATTACKS
from collateral.results import layout
from collateral.results.arrays import write_arrays
from collateral.results.cell import CellResults
from collateral.results.dataset import Labels
from collateral.results.outputs import ModelOutputs
from collateral.results.plan import BenchmarkPlan, CellNumbers, CellPlan
from collateral.results.split import Split
from collateral.results.submission import (
    Statement,
    Submission,
    compute_outputs,
    read_references,
    state_references,
)

SEEDS = (2, 5, 11, 3)
CELL, NAME, RUN = "ox-50", "animals", "mine"
CLASSES = ("cat", "ox", "zebra", "eel")
SIZES = {"train": (90, 80, 60, 50), "test": (44, 40, 30, 26)}
NUM_FORGOTTEN = 40
STEP = 0.5  # by how much a method changes the logits of its base
Logits = dict[str, np.ndarray]  # of train and test set


def rng_of(*names: object) -> np.random.Generator:
    return np.random.default_rng([*"/".join(map(str, names)).encode()])


@dataclass(frozen=True)
class World:
    """The published benchmark in a folder of results."""

    results: Path
    name: str = NAME
    cell_name: str = CELL
    seeds: tuple[int, ...] = SEEDS
    ours: str = "ours"  # a method that was run by the maintainers

    @property
    def root(self) -> Path:
        return self.results / self.name

    @cached_property
    def labels(self) -> Labels:
        train, test = (
            rng_of("labels", name).permutation(np.repeat(range(len(CLASSES)), sizes))
            for name, sizes in SIZES.items()
        )
        return Labels(train, test, CLASSES)

    @cached_property
    def split(self) -> Split:
        forget = np.flatnonzero(self.labels.train == 1)[:NUM_FORGOTTEN]
        return Split(forget, len(self.labels.train), (1,), {"class": "ox", "fraction": 0.5})

    def base(self, seed: int) -> Logits:
        return self._trained("base", seed, 4.0)

    def retrain(self, seed: int) -> Logits:
        logits = self._trained("retrain", seed, 4.0)
        logits["train"][self.split.forget, 1] -= 3.5
        return logits

    def method(self, seed: int, name: str = RUN, step: float = STEP) -> Logits:
        """Return the base's logits with those of forgotten examples lowered, and changed."""
        logits = {
            part: of + rng_of(name, seed, part).normal(0, step, of.shape)
            for part, of in self.base(seed).items()
        }
        logits["train"][self.split.forget, 1] -= 3.0
        return logits

    def _trained(self, name: str, seed: int, sure: float) -> Logits:
        found = {}
        for part, label in (("train", self.labels.train), ("test", self.labels.test)):
            shape = (len(label), len(CLASSES))
            logits = rng_of("all", part).normal(0, 1.0, shape)
            logits += rng_of(name, seed, part).normal(0, 0.9, shape)
            logits[np.arange(len(label)), label] += sure - rng_of("hard", part).gamma(
                1.2, 1.2, len(label)
            )
            found[part] = logits
        return found

    def outputs(self, logits: Logits) -> ModelOutputs:
        """Return outputs as a job writes them: confidences of the exact logits."""
        return ModelOutputs(
            compute_outputs(logits["train"], self.labels.train),
            compute_outputs(logits["test"], self.labels.test),
        )

    def write(self) -> World:
        """Write the published files, with one method that was run here, and the plan."""
        models = {layout.ORIGINAL: self.base, layout.RETRAIN: self.retrain}
        models["ours"] = lambda seed: self.method(seed, "ours", 0.8)
        runs = {}
        for run, make in models.items():
            for seed in SEEDS:
                outputs = self.outputs(make(seed))
                runs[run, seed] = FakeRun(outputs.train, outputs.test, seconds=20.0, device="d")
        similarity = [
            np.where(label == 1, 0.8, 0.3) + rng_of("near", len(label)).uniform(0, 0.15, len(label))
            for label in (self.labels.train, self.labels.test)
        ]
        no_copies = np.zeros((0, 3), np.int64)
        neighbours = fake_neighbours(
            SEEDS,
            *similarity,
            len(CLASSES),
            copies=no_copies,
            test_copies=no_copies[:, :2],
            image_size=np.array([8, 8]),
            pixels=np.array([0, 255, 0]),
        )
        FakeCell(self.labels, self.split, neighbours, runs, CELL).write(self.root)
        numbers = CellNumbers(
            seeds=SEEDS,
            base_seeds=SEEDS,
            methods=("ours",),
            controls=("original",),
            attacks=ATTACKS,
        )
        plan = {CELL: CellPlan(numbers=numbers)}
        labels = {"ours": "Ours", "original": "Original"}
        BenchmarkPlan(labels, "matched", plan, {"name": NAME}, "mlp").save(self.root / layout.PLAN)
        return self

    @cached_property
    def cell(self) -> CellResults:
        return read_references(self.root)[1][self.cell_name]

    def submit(
        self, folder: Path, make: Callable[[int], Logits] | None = None, run: str = RUN
    ) -> Path:
        """Write a submission of the logits of every seed."""
        for seed in self.seeds:
            write(folder, seed, self.outputs((make or self.method)(seed)), self.cell_name)
        about = {"benchmark": self.name, "run": run, "method": run.title(), "by": "An author"}
        cells = {self.cell_name: state_references(self.cell)}
        Submission(folder, Statement(**about, cells=cells)).save()
        return folder


@dataclass(frozen=True)
class RealWorld(World):
    """A finished run; submissions are changed copies of its methods, with new noise."""

    copied: str = "ft"

    @cached_property
    def labels(self) -> Labels:
        return self.cell.labels

    @cached_property
    def split(self) -> Split:
        return self.cell.split

    def base(self, seed: int) -> Logits:
        return self._read(self.root / layout.BASE.format(seed=seed))

    def retrain(self, seed: int) -> Logits:
        return self._run(seed, layout.RETRAIN)

    def method(self, seed: int, name: str = RUN, step: float = STEP) -> Logits:
        """Return the logits of a run; all but those of `ours` with noise of their own."""
        logits = self._run(seed, self.copied if name != "rival" else "neighbor")
        if name == "ours":
            return self._run(seed, self.ours)
        for part, of in logits.items():
            of += rng_of(name, seed, part).normal(0, step, of.shape)
        return logits

    def _run(self, seed: int, run: str) -> Logits:
        place = layout.RUN.format(cell=self.cell_name, seed=seed, run=run)
        return self._read(self.root / place)

    @staticmethod
    def _read(folder: Path) -> Logits:
        with np.load(folder / layout.OUTPUTS) as file:
            return {part: file[f"{part}_logits"].astype(float) for part in ("train", "test")}


def place(folder: Path, seed: int, cell: str = CELL) -> Path:
    return folder / cell / f"seed-{seed}" / layout.OUTPUTS


def write(folder: Path, seed: int, outputs: ModelOutputs, cell: str = CELL) -> None:
    outputs.save(place(folder, seed, cell))


def read(folder: Path, seed: int, cell: str = CELL) -> dict[str, np.ndarray]:
    with np.load(place(folder, seed, cell)) as file:
        return {name: file[name] for name in file.files}


def change(folder: Path, seed: int, cell: str = CELL, **arrays: np.ndarray | None) -> None:
    """Replace arrays of a file; None removes one."""
    new = {**read(folder, seed, cell), **arrays}
    write_arrays(
        place(folder, seed, cell), {k: v for k, v in new.items() if v is not None}, compress=True
    )


def sign(folder: Path) -> None:
    """Write the hashes of all files anew, as a forger can."""
    Submission.load(folder).save()

"""A cell's cached outputs on disk, from arrays that a test makes up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sealing import seal

from collateral.contract.rows import ATTACKS, Row
from collateral.findings.registry import cell_numbers
from collateral.results import layout
from collateral.results.cell import CellResults
from collateral.results.dataset import Labels
from collateral.results.epochs import Epochs, keep_outputs
from collateral.results.files import write_json
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import ModelOutputs, Outputs
from collateral.results.split import Split

COST = {
    "seconds": {"unlearn": 1.5},
    "total_seconds": 1.5,
    "peak_rss_mb": 300,
    "peak_device_mb": None,
}
Numbers = dict[tuple[Any, ...], float]  # by run, seed, metric, set and index, the last if there are


@dataclass(frozen=True)
class FakeRun:
    """What a model of one seed says, and how its run ended."""

    train: Outputs
    test: Outputs
    status: str = "ok"
    extra: Mapping[str, float] = field(default_factory=dict)
    epochs: Sequence[ModelOutputs] = ()  # of a tracked run, the base first; each takes a second


@dataclass(frozen=True)
class FakeCell:
    """A cell whose runs are made up; `runs` is by name and seed."""

    labels: Labels
    split: Split
    neighbours: Neighbours
    runs: Mapping[tuple[str, int], FakeRun]

    def write(self, folder: Path, **more: Any) -> CellResults:
        """Write it; return its results as findings are given them."""
        self.labels.save(folder / layout.LABELS)
        split = folder / layout.SPLIT.format(cell="cell")
        self.split.save(split, self.labels, folder / layout.LABELS)
        self.neighbours.save(folder / layout.NEIGHBOURS.format(cell="cell"))
        for (run, seed), made in self.runs.items():
            place = folder / layout.RUN.format(cell="cell", run=run, seed=seed)
            if run == layout.ORIGINAL:
                place = folder / layout.BASE.format(seed=seed)
            ModelOutputs(made.train, made.test).save(place / layout.OUTPUTS)
            record = {"run": run, "status": made.status, "extra": dict(made.extra)}
            write_json(place / layout.RECORD, record)
            by_epoch = {"epoch_seconds": [float(i) for i in range(len(made.epochs))]}
            write_json(place / layout.COST, COST | (by_epoch if made.epochs else {}))
            if made.epochs:
                write_epochs(place, made.epochs)
        seal(folder)
        seeds = tuple(self.neighbours.seeds.tolist())
        reference = more.get("reference", layout.RETRAIN)
        names = dict.fromkeys(run for run, _ in self.runs if run != reference)
        kinds = {name: "control" if name == layout.ORIGINAL else "method" for name in names}
        more = {"base_seeds": seeds, "attacks": ATTACKS, **more}
        return CellResults(folder, "cell", seeds, kinds=kinds, **more)

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
    """Write what a tracked run keeps of its models, and a history without numbers."""
    kept = [keep_outputs(model) for model in models]
    Epochs.from_arrays({name: [one[name] for one in kept] for name in kept[0]}).save(
        place / layout.EPOCHS
    )
    if not (place / layout.HISTORY).exists():
        (place / layout.HISTORY).write_text("loop,epoch\n")


def key_of(row: Row) -> tuple[Any, ...]:
    """Return run, seed and metric of a row, and set and index where it has them."""
    set_and_at = (part for part in (row.set or None, row.at) if part is not None)
    return (row.run, row.seed, row.metric, *set_and_at)

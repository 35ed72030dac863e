"""Time of a cell's metrics at CIFAR-100's size: without cache, one new method, all cached.

    python benchmarks/bench_metrics.py [--quick]

Retrain and one method on five seeds; 50,000 + 10,000 examples of 100 classes. Logits are random:
like those of models that are nearly perfect on the train set and right on three quarters of the
test set, or pure noise, for which attacks take longest. The stage `metrics` runs in this process so
that its imports are not counted: with an empty cache, with Retrain's rows in the cache (the cost of
one more method), and with all rows in the cache.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import Row, in_turns, run
from numpy.typing import NDArray
from scipy.special import softmax

from collateral.config.schema import BenchmarkConfig
from collateral.jobs.metrics import MetricsJob
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours
from collateral.results.outputs import ModelOutputs, Outputs
from collateral.results.plan import CellNumbers
from collateral.results.provenance import write_cost, write_record
from collateral.results.split import Split
from collateral.stages._workspace import Workspace
from collateral.stages.run import run_job

CELL, METHOD = "cell", "ft"
ATTACKS = BenchmarkConfig.model_fields["attacks"].default
# Target of the stage's CPU seconds, by the rows that are not in the cache.
AT_MOST = {"of one method more": 2, "of one method more, of noise": 4, "all kept": 0.7}
COST = {"seconds": {}, "total_seconds": 1.0, "peak_rss_mb": 1.0, "peak_device_mb": None}


@dataclass(frozen=True)
class Model:
    """Distribution of random logits: their spread, and mean and spread of the true class's lead."""

    spread: float
    seen: tuple[float, float]
    unseen: tuple[float, float]

    def draw(
        self, rng: np.random.Generator, label: NDArray[np.int64], is_seen: NDArray[np.bool_]
    ) -> Outputs:
        """Draw the outputs of the model on examples."""
        rows, num_classes = np.arange(len(label)), int(label.max()) + 1
        logits = self.spread * rng.standard_normal((len(label), num_classes), np.float32)
        margins = (rng.normal(*margin, len(label)) for margin in (self.seen, self.unseen))
        logits[rows, label] += np.where(is_seen, *margins)
        confidence = softmax(logits, axis=1)[rows, label]
        return Outputs(logits.astype(np.float16), confidence, logits.argmax(axis=1))


TRAINED = Model(2.0, (14.0, 3.0), (9.0, 5.0))
NOISE = Model(1.0, (0.0, 0.0), (0.0, 0.0))


@dataclass(frozen=True)
class Cell:
    """A cell with random outputs of Retrain and one method; half of a class is forgotten."""

    folder: Path  # folder of the benchmark
    labels: Labels
    seeds: range
    model: Model

    def write(self) -> None:
        """Write all files that the stage reads."""
        rng = np.random.default_rng(0)
        members = np.flatnonzero(self.labels.train == 0)
        forget, num_train = members[: len(members) // 2], len(self.labels.train)
        split = Split(forget, num_train, (0,), {"kind": "class_part"})
        labels, neighbours = layout.LABELS, layout.NEIGHBOURS.format(cell=CELL)
        self.labels.save(self.folder / labels)
        self._record(self.folder / labels)
        split.save(self.folder / layout.SPLIT.format(cell=CELL), self.labels, self.folder / labels)
        self._neighbours(rng).save(self.folder / neighbours)
        self._record(self.folder / neighbours)
        for name in (layout.RETRAIN, METHOD):
            for seed in self.seeds:
                place = self.folder / layout.RUN.format(cell=CELL, seed=seed, run=name)
                is_seen = np.isin(np.arange(num_train), split.retain)
                train = self.model.draw(rng, self.labels.train, is_seen)
                test = self.model.draw(rng, self.labels.test, self.labels.test < 0)
                ModelOutputs(train, test).save(place / layout.OUTPUTS)
                self._record(place / layout.OUTPUTS, run=name, status="ok", extra={})
                write_cost(place, COST, root=self.folder)

    def _record(self, path: Path, **about: Any) -> None:
        """Write the record of a file."""
        write_record(layout.record_path(path), about, root=self.folder, files=[path])

    def _neighbours(self, rng: np.random.Generator) -> Neighbours:
        counts = (len(self.labels.train), len(self.labels.test), len(self.labels.class_names))
        similarities = (rng.random((len(self.seeds), count), np.float32) for count in counts)
        return Neighbours(np.array(self.seeds), *similarities, np.array(["train"]), np.array([1]))

    def metrics(self) -> None:
        """Compute all metrics of the cell."""
        seeds = tuple(self.seeds)
        numbers = CellNumbers(seeds=seeds, base_seeds=seeds, methods=(METHOD,), attacks=ATTACKS)
        job = MetricsJob(benchmark=self.folder.name, cell=CELL, numbers=numbers)
        run_job(Workspace(job, self.folder.parent))

    def metrics_without(self, run: str) -> None:
        """Compute all metrics, with the cached rows of one run deleted."""
        for file in (self.folder / layout.ROW_CACHE.format(cell=CELL)).glob(f"*/{run}-*.json"):
            file.unlink()
        self.metrics()


def cell_of(folder: Path, model: Model, quick: bool) -> Cell:
    """Write the files of a cell and return it."""
    counts, num_classes, num_seeds = ((60, 40), 3, 2) if quick else ((50_000, 10_000), 100, 5)
    labels = (np.arange(count) % num_classes for count in counts)
    names = tuple(f"class_{c}" for c in range(num_classes))
    cell = Cell(folder, Labels(*labels, names), range(num_seeds), model)
    cell.write()
    return cell


def measure(quick: bool) -> list[Row]:
    """Measure the metrics without cache, with Retrain's rows cached, and with all rows cached."""
    with tempfile.TemporaryDirectory() as name:
        trained = cell_of(Path(name) / "trained", TRAINED, quick)
        noise = cell_of(Path(name) / "noise", NOISE, quick)
        contestants = {
            "of Retrain and one method": lambda: trained.metrics_without("*"),
            "of one method more": lambda: trained.metrics_without(METHOD),
            "of one method more, of noise": lambda: noise.metrics_without(METHOD),
            "all kept": trained.metrics,
        }
        seconds = in_turns(contestants, 1 if quick else 3)
    sizes = f"{len(trained.labels.train):,} + {len(trained.labels.test):,} examples"
    return [
        Row(
            f"metrics, {sizes}, {len(trained.seeds)} seeds, {what}: CPU seconds",
            [each.cpu for each in found],
            at_most=AT_MOST.get(what),
            note=f"on the wall {min(each.wall for each in found):.1f}",
        )
        for what, found in seconds.items()
    ]


if __name__ == "__main__":
    run(measure, __doc__)

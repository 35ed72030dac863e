"""Stored results of all runs of a cell, from which findings compute their metrics."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from collateral.contract.conventions import SKIPPED
from collateral.contract.rows import At, Row
from collateral.metrics.similarity import Mask, near_mask
from collateral.results import layout
from collateral.results.dataset import Labels, Neighbours
from collateral.results.files import InvalidResultError, read_json, read_rows
from collateral.results.outputs import Epoch, Epochs, Exposure, Probe, StoredOutputs, SupportSizes
from collateral.results.plan import CellNumbers
from collateral.results.provenance import read_cost, read_record, read_signed, verify
from collateral.results.split import Split

Array = NDArray[Any]


@dataclass(frozen=True)
class Result:
    """A run of one seed: its record, its status, and the outputs of its model."""

    run: str
    kind: str
    seed: int
    folder: Path
    root: Path  # folder of the benchmark

    @cached_property
    def record(self) -> dict[str, Any]:
        """Content of record.json."""
        return read_record(self.folder / layout.RECORD, self.root)

    @property
    def status(self) -> str:
        """Status of the run: ok, collapsed, diverged or skipped."""
        return str(self.record["status"])

    @property
    def is_diverged(self) -> bool:
        """Whether the run has no usable outputs: it diverged, or the method was skipped."""
        return self.status in ("diverged", SKIPPED)

    @property
    def is_sweep(self) -> bool:
        """Whether the run belongs to a sweep."""
        return layout.is_sweep(self.run)

    @cached_property
    def train(self) -> StoredOutputs:
        """Model outputs on the train set."""
        return StoredOutputs(self._outputs, "train")

    @cached_property
    def test(self) -> StoredOutputs:
        """Model outputs on the test set."""
        return StoredOutputs(self._outputs, "test")

    @cached_property
    def _outputs(self) -> Path:
        return verify(self.folder / layout.OUTPUTS, self.root)

    def history(self) -> list[dict[str, str]]:
        """Read history.csv: one row per epoch."""
        return read_rows(verify(self.folder / layout.HISTORY, self.root))

    def epochs(self) -> list[Epoch]:
        """Read a tracked run's outputs: first of the base model, then after every epoch."""
        return Epochs.load(verify(self.folder / layout.EPOCHS, self.root)).models

    def cost(self) -> dict[str, Any]:
        """Read the cost of the run; for Original, the cost of the base model."""
        return read_cost(self.folder, self.root)

    def check(self) -> None:
        """Raise if the run's outputs were changed, or made from other versions of their inputs."""
        verify(self.folder / layout.OUTPUTS, self.root)


@dataclass(frozen=True)
class UnplannedResult(Result):
    """A seed in which a run has no model; it counts as skipped, so that its model is the base."""

    @property
    def record(self) -> dict[str, Any]:
        """A record that says so."""
        return {"status": SKIPPED, "reason": "not planned for this seed", "extra": {}}

    def history(self) -> list[dict[str, str]]:
        """Return an empty list: this model has no epochs of its own."""
        return []

    def cost(self) -> dict[str, Any]:
        """Return a cost of nothing."""
        return {"seconds": {}, "total_seconds": None, "peak_rss_mb": None, "peak_device_mb": None}


@dataclass(frozen=True, kw_only=True)
class CellResults(CellNumbers):
    """Results of all runs with one forget set; a file is read when it is first used."""

    folder: Path  # folder of the benchmark
    cell: str  # name of the cell
    by_seed: tuple[str, ...] = ()  # kinds of jobs that the cell has once per seed, besides Retrain
    # Metrics that earlier findings computed: for each (run, metric, set, at), the value by seed.
    _known: dict[tuple[Any, ...], dict[int | None, float]] = field(
        default_factory=lambda: defaultdict(dict), init=False
    )

    @property
    def name(self) -> str:
        """Name of the cell."""
        return self.cell

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each run (method or control), without the reference."""
        return dict.fromkeys(self.methods, "method") | dict.fromkeys(self.controls, "control")

    @property
    def has_retrain(self) -> bool:
        """Whether the reference is Retrain."""
        return self.reference == layout.RETRAIN

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of all runs except the reference."""
        return tuple(self.kinds)

    @cached_property
    def labels(self) -> Labels:
        """True labels of the data set."""
        return Labels.load(self.file(layout.LABELS))

    @cached_property
    def split(self) -> Split:
        """Forget set and retained examples of the cell."""
        return Split.load(self._below(layout.SPLIT), self.folder)

    @cached_property
    def neighbours(self) -> Neighbours:
        """Similarity of every example to the forget set."""
        return Neighbours.load(self.file(layout.NEIGHBOURS))

    @cached_property
    def forecast(self) -> dict[str, Any]:
        """Forecast of the cell, by method and stratum; empty if none was made."""
        if not self.has_forecast:
            return {}
        content: dict[str, Any] = read_signed(self._below(layout.FORECAST), self.folder)
        return dict(content["methods"])

    @cached_property
    def by_round(self) -> list[Self]:
        """Results of each round of forget requests if this cell is the last round, else empty."""
        return [replace(self, cell=name, rounds=()) for name in self.rounds]

    def check(self) -> None:
        """Raise if neighbours.npz has other seeds, or outputs of a run do not match its record."""
        if (found := self.neighbours.seeds.tolist()) != list(self.seeds):
            path = self._below(layout.NEIGHBOURS)
            raise InvalidResultError(path, f"of seeds {found}, not {list(self.seeds)}")
        for result in self.all_results():
            result.check()

    @cached_property
    def similarity(self) -> dict[str, NDArray[np.float32]]:
        """Similarity of examples to the forget set, by subset; arrays are (seeds, examples)."""
        return self.sets(self.neighbours.train_similarity, self.neighbours.test_similarity)

    @cached_property
    def near(self) -> dict[str, Mask]:
        """Masks of the retained and test examples near the forget set, the same for all seeds.

        Similarities are averaged over the seeds, or over those of the first look (`looks`), so that
        a verdict of the first look stays as it is when seeds are added.
        """
        found, label = {}, self.sets(self.labels.train, self.labels.test)
        for name, kept in self._is_of_kept_class.items():
            similarity = self.similarity[name][: min(self.looks, default=None)].mean(axis=0)
            found[name] = np.zeros_like(kept)
            found[name][kept] = near_mask(similarity[kept], label[name][kept], self.split.affected)
        return found

    @cached_property
    def far(self) -> dict[str, Mask]:
        """Masks of the retained and test examples that are far from the forget set."""
        return {name: kept & ~self.near[name] for name, kept in self._is_of_kept_class.items()}

    @cached_property
    def _is_of_kept_class(self) -> dict[str, Mask]:
        """Masks of the retained and test examples of classes of which examples are retained.

        Test examples of a class that is forgotten as a whole are neither near nor far: no model
        that forgot the class recognises them, Retrain included.
        """
        parts = self.sets(self.labels.train, self.labels.test)
        return {name: np.isin(parts[name], parts["retain"]) for name in ("retain", "test")}

    def sets(self, train: Array, test: Array) -> dict[str, Array]:
        """Divide arrays, whose last axis is the examples, into retain, forget and test set."""
        return self.split.divide(train, test)

    def row(self, seed: int) -> int:
        """Return the position of a seed in `seeds`."""
        return self.seeds.index(seed)

    @cached_property
    def _results(self) -> dict[tuple[str, int], Result]:
        kinds = {self.reference: "reference", **self.kinds}
        return {
            (run, seed): Result(run, kind, seed, self._folder_of(run, seed), self.folder)
            if self.has_run(run, seed)
            else UnplannedResult(
                *(run, kind, seed, self._folder_of(layout.ORIGINAL, seed), self.folder)
            )
            for run, kind in kinds.items()
            for seed in self.seeds
        }

    def _folder_of(self, run: str, seed: int) -> Path:
        model_seed = self.seed_of_model(run, self.row(seed))
        return self._below(layout.run_folder(run), seed=model_seed, run=run)

    def result(self, run: str, seed: int) -> Result:
        """Return the result of a run for one seed."""
        return self._results[run, seed]

    def retrained(self) -> list[Result]:
        """Return the results of Retrain, one per seed."""
        return [self.retrain(seed) for seed in self.seeds]

    def results(self) -> Iterator[Result]:
        """Yield the results of all runs except the reference."""
        return (result for result in self._results.values() if result.run != self.reference)

    def all_results(self) -> Iterator[Result]:
        """Yield the results of the reference, and then the results of all other runs."""
        return iter(self._results.values())

    def retrain(self, seed: int) -> Result:
        """Return the result of Retrain for a seed."""
        if not self.has_retrain:
            raise ValueError("there is no Retrain (retrain: none); a finding that needs it says so")
        return self.result(layout.RETRAIN, seed)

    def reference_result(self, seed: int) -> Result:
        """Return the result of the reference for a seed: Retrain, or Original if it was not run."""
        return self.result(self.reference, seed)

    def teacher_ua(self) -> float:
        """Read the unlearning accuracy of the teacher that tuning uses; NaN if it uses no teacher.

        The teacher has never seen the forget set, so its accuracy estimates that of Retrain.
        """
        if not any(self._teachers(method) for method in self.tuned):
            return float("nan")
        path = self.file(f"{layout.TEACHER}/{layout.TEACHER_RESULT}")
        return float(read_json(path)["teacher_ua"])

    def support_sizes(self, seed: int) -> SupportSizes:
        """Read a seed's results of LTD teachers that were trained on supports of several sizes."""
        name = f"{layout.SUPPORT_SIZE}/{layout.SUPPORT_SIZES}"
        return SupportSizes.load(self.file(name, seed=seed))

    def support_sizes_cost(self, seed: int) -> dict[str, Any]:
        """Read the cost of the job that trains LTD teachers on supports of several sizes."""
        return read_cost(self._below(layout.SUPPORT_SIZE, seed=seed), self.folder)

    def probe(self, seed: int) -> Probe:
        """Read the results of probing all models of one seed."""
        return Probe.load(self.file(f"{layout.PROBE}/{layout.PROBE_RESULT}", seed=seed))

    def exposure(self, run: str) -> Exposure:
        """Read the margins of shadow models before and after unlearning with a method."""
        name = f"{layout.EXPOSURE}/{layout.EXPOSURE_MARGINS}"
        return Exposure.load(self.file(name, run=run))

    def trials(self, method: str) -> list[dict[str, str]]:
        """Read the trials of a tuned method, one row per trial."""
        return read_rows(self.file(f"{layout.TUNE}/{layout.TRIALS}", method=method))

    def tuning_cost(self, method: str) -> dict[str, Any]:
        """Read the cost of tuning a method."""
        return read_cost(self._below(layout.TUNE, method=method), self.folder)

    def teacher_costs(self, method: str) -> list[dict[str, Any]]:
        """Read the cost of the teacher that tuning of a method used; empty if it used none."""
        return [read_cost(folder, self.folder) for folder in self._teachers(method)]

    def _below(self, pattern: str, **wildcards: str | int) -> Path:
        """Return the path of a file or folder of this cell."""
        return self.folder / pattern.format(cell=self.name, **wildcards)

    def file(self, pattern: str, **wildcards: str | int) -> Path:
        """Return the path of a file of this cell; raise if the file does not match its record."""
        return verify(self._below(pattern, **wildcards), self.folder)

    def _teachers(self, method: str) -> list[Path]:
        record = read_record(self._below(layout.TUNE, method=method) / layout.RECORD, self.folder)
        has_teacher = record.get("select") == "teacher"
        return [self._below(layout.TEACHER)] if has_teacher else []

    def add(self, rows: Iterable[Row]) -> None:
        """Store the metrics of a finding, so that findings that are computed later can use them."""
        for row in rows:
            self._known[row.run, row.metric, row.set, row.at][row.seed] = row.value

    def values(self, run: str, metric: str, subset: str = "", at: At = None) -> NDArray[np.float64]:
        """Return the values of an earlier finding's metric, one per seed; NaN if undefined."""
        known = self._known.get((run, metric, subset, at), {})
        return np.array([known.get(seed, np.nan) for seed in self.seeds])

    def last_index(self, run: str, metric: str, subset: str = "") -> int | None:
        """Return the largest number in column `at` of a metric, as the last step of a curve."""
        keys = [key for key in self._known if key[:3] == (run, metric, subset)]
        return max((key[3] for key in keys if isinstance(key[3], int)), default=None)

    def number(self, run: str, metric: str, subset: str = "", at: At = None) -> float:
        """Return a metric that an earlier finding computed over all seeds; NaN if undefined."""
        return self._known.get((run, metric, subset, at), {}).get(None, np.nan)

    def worst_status(self, run: str, seed: int | None) -> str:
        """Return the status of a run for a seed; if `seed` is None, the worst of all seeds."""
        seeds = self.seeds if seed is None else [seed]
        return max((self.result(run, s).status for s in seeds), key=STATUSES.index)


STATUSES = ("ok", "collapsed", "diverged", SKIPPED)  # sorted from good to bad

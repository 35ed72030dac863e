"""The cached outputs of a cell's runs, as findings are given them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from collateral.contract.rows import At, Row
from collateral.contract.skipping import SKIPPED
from collateral.results import layout
from collateral.results.chain import checked, read_cost, read_sealed
from collateral.results.dataset import Labels
from collateral.results.epochs import Epochs
from collateral.results.experiments import Exposure, Probe, SupportSizes
from collateral.results.files import Unsound, read_json, read_rows
from collateral.results.neighbours import Neighbours
from collateral.results.outputs import StoredOutputs
from collateral.results.selection import read_trials
from collateral.results.split import Split

Array = NDArray[Any]


@dataclass(frozen=True)
class Result:
    """A run of one seed: what it is, how it ended, and what its model says of every example."""

    run: str
    kind: str
    seed: int
    folder: Path
    root: Path  # the benchmark's folder

    @cached_property
    def record(self) -> dict[str, Any]:
        """What record.json says."""
        return read_sealed(self.folder / layout.RECORD, self.root)

    @property
    def status(self) -> str:
        """How it ended."""
        return str(self.record["status"])

    @property
    def is_diverged(self) -> bool:
        """Whether the outputs mean nothing: they are undefined, or the method was skipped."""
        return self.status in ("diverged", SKIPPED)

    @cached_property
    def train(self) -> StoredOutputs:
        """What it says of the train set."""
        return StoredOutputs(self._outputs, "train")

    @cached_property
    def test(self) -> StoredOutputs:
        """What it says of the test set."""
        return StoredOutputs(self._outputs, "test")

    @cached_property
    def _outputs(self) -> Path:
        return checked(self.folder / layout.OUTPUTS, self.root)

    def history(self) -> list[dict[str, str]]:
        """Read what was logged in every epoch."""
        return read_rows(checked(self.folder / layout.HISTORY, self.root))

    def epochs(self) -> Epochs:
        """Read what a tracked model says after every epoch."""
        return Epochs.load(checked(self.folder / layout.EPOCHS, self.root))

    def cost(self) -> dict[str, Any]:
        """Read what it cost; of Original, what the base model did."""
        return read_cost(self.folder, self.root)

    def check(self) -> None:
        """Refuse outputs that are not this run's, or were made from what is there no more."""
        checked(self.folder / layout.OUTPUTS, self.root)


@dataclass(frozen=True)
class CellResults:
    """All runs of a forget set; outputs are read when they are asked for."""

    folder: Path  # the benchmark's
    name: str
    seeds: tuple[int, ...]
    base_seeds: tuple[int, ...]  # by seed: whose base model its runs start from
    kinds: dict[str, str]  # run -> method or control; the reference is not among them
    tuned: tuple[str, ...] = ()
    tracked: tuple[str, ...] = ()
    support_sized: tuple[str, ...] = ()  # LTD, where supports of several sizes were tried
    exposed: tuple[str, ...] = ()  # methods that unlearned from shadow models
    attacks: tuple[str, ...] = ()  # on membership, that the config asks for
    probed: tuple[str, ...] = ()  # what models were asked once more
    reference: str = layout.RETRAIN  # the run that others are held against; else Original
    _known: dict[tuple[Any, ...], dict[int | None, float]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    @property
    def runs(self) -> tuple[str, ...]:
        """All runs but the reference."""
        return tuple(self.kinds)

    @cached_property
    def labels(self) -> Labels:
        """The true labels."""
        return Labels.load(checked(self.folder / layout.LABELS, self.folder))

    @cached_property
    def split(self) -> Split:
        """Who is forgotten."""
        return Split.load(self.folder / layout.SPLIT.format(cell=self.name), self.folder)

    @cached_property
    def neighbours(self) -> Neighbours:
        """How near every example is to the forget set."""
        path = self.folder / layout.NEIGHBOURS.format(cell=self.name)
        return Neighbours.load(checked(path, self.folder))

    def check(self) -> None:
        """Refuse files that are not of this cell: no finding could be right."""
        if (found := self.neighbours.seeds.tolist()) != list(self.seeds):
            path = self.folder / layout.NEIGHBOURS.format(cell=self.name)
            raise Unsound(path, f"of seeds {found}, not {list(self.seeds)}")
        for result in self.everyone():
            result.check()

    @cached_property
    def similarity(self) -> dict[str, NDArray[np.float32]]:
        """Similarity to the forget set by seed and example, of each set."""
        return self.sets(self.neighbours.train_similarity, self.neighbours.test_similarity)

    def sets(self, train: Array, test: Array) -> dict[str, Array]:
        """Part what is known of the train and the test examples (last axis) by set."""
        retain, forget = train[..., self.split.retain], train[..., self.split.forget]
        return {"retain": retain, "forget": forget, "test": test}

    def row(self, seed: int) -> int:
        """Return the place of a seed among the seeds."""
        return self.seeds.index(seed)

    @cached_property
    def _results(self) -> dict[tuple[str, int], Result]:
        kinds = {self.reference: "reference", **self.kinds}
        return {
            (run, seed): Result(run, kind, seed, self._folder_of(run, seed), self.folder)
            for run, kind in kinds.items()
            for seed in self.seeds
        }

    def _folder_of(self, run: str, seed: int) -> Path:
        if run == layout.ORIGINAL:
            return self.folder / layout.BASE.format(seed=self.base_seeds[self.row(seed)])
        return self.folder / layout.RUN.format(cell=self.name, seed=seed, run=run)

    def result(self, run: str, seed: int) -> Result:
        """Return a run of one seed."""
        return self._results[run, seed]

    def retrained(self) -> list[Result]:
        """Return Retrain's results, one a seed."""
        return [self.retrain(seed) for seed in self.seeds]

    def results(self) -> Iterator[Result]:
        """Yield the results of all runs but the reference."""
        return (result for result in self._results.values() if result.run != self.reference)

    def everyone(self) -> Iterator[Result]:
        """Yield the reference's results, and then those of all other runs."""
        return iter(self._results.values())

    def retrain(self, seed: int) -> Result:
        """Return Retrain of a seed."""
        if self.reference != layout.RETRAIN:
            raise ValueError("there is no Retrain (retrain: none); a finding that needs it says so")
        return self.result(layout.RETRAIN, seed)

    def referred(self, seed: int) -> Result:
        """Return the reference of a seed: Retrain, or the base where there is none."""
        return self.result(self.reference, seed)

    def teacher_ua(self) -> float:
        """Read what the teacher that tuning asks knows of the forget set; NaN where there is none.

        It has never seen the forget set: what it knows is an estimate of what Retrain would.
        """
        path = self.folder / layout.TEACHER.format(cell=self.name) / layout.TEACHER_SAYS
        if not any(self._teachers(method) for method in self.tuned):
            return float("nan")
        return float(read_json(checked(path, self.folder))["teacher_ua"])

    def support_sizes(self, seed: int) -> SupportSizes:
        """Read what teachers on supports of every size say."""
        path = self._support_size(seed) / layout.SUPPORT_SIZES
        return SupportSizes.load(checked(path, self.folder))

    def support_sizes_cost(self, seed: int) -> dict[str, Any]:
        """Read what these teachers cost."""
        return read_cost(self._support_size(seed), self.folder)

    def probe(self, seed: int) -> Probe:
        """Read what the models of a seed show when they are used once more."""
        return Probe.load(checked(self._probe(seed) / layout.PROBE_SHOWS, self.folder))

    def exposure(self, run: str) -> Exposure:
        """Read the margins of shadow models before and after a method unlearned from them."""
        return Exposure.load(checked(self._exposure(run) / layout.EXPOSED, self.folder))

    def trials(self, method: str) -> list[dict[str, str]]:
        """Read the trials of a tuned method."""
        return read_trials(self._tune(method) / layout.TRIALS, self.folder)

    def tuning_cost(self, method: str) -> dict[str, Any]:
        """Read what its tuning cost."""
        return read_cost(self._tune(method), self.folder)

    def teacher_costs(self, method: str) -> list[dict[str, Any]]:
        """Read what the teacher cost that its tuning asks; nothing where it asks none."""
        return [read_cost(folder, self.folder) for folder in self._teachers(method)]

    def records(self) -> list[Path]:
        """Return the records of all jobs whose files numbers may be made from."""
        folders = [result.folder for result in self.everyone()]
        folders += [self._tune(method) for method in self.tuned]
        folders += [folder for method in self.tuned for folder in self._teachers(method)]
        folders += [self._support_size(seed) for seed in self.seeds if self.support_sized]
        folders += [self._probe(seed) for seed in self.seeds if self.probed]
        folders += [self._exposure(run) for run in self.exposed]
        return [folder / layout.RECORD for folder in dict.fromkeys(folders)]

    def _tune(self, method: str) -> Path:
        return self.folder / layout.TUNE.format(cell=self.name, method=method)

    def _teachers(self, method: str) -> list[Path]:
        record = read_sealed(self._tune(method) / layout.RECORD, self.folder)
        is_asked = record.get("select") == "teacher"
        return [self.folder / layout.TEACHER.format(cell=self.name)] if is_asked else []

    def _support_size(self, seed: int) -> Path:
        return self.folder / layout.SUPPORT_SIZE.format(cell=self.name, seed=seed)

    def _probe(self, seed: int) -> Path:
        return self.folder / layout.PROBE.format(cell=self.name, seed=seed)

    def _exposure(self, run: str) -> Path:
        return self.folder / layout.EXPOSURE.format(cell=self.name, run=run)

    def add(self, rows: Iterable[Row]) -> None:
        """Let findings that come later read these numbers."""
        for row in rows:
            self._known[row.run, row.metric, row.set, row.at][row.seed] = row.value

    def values(self, run: str, metric: str, set: str = "", at: At = None) -> NDArray[np.float64]:
        """Return a number of a finding before this one, one a seed; NaN where undefined."""
        known = self._known.get((run, metric, set, at), {})
        return np.array([known.get(seed, np.nan) for seed in self.seeds])

    def number(self, run: str, metric: str, set: str = "", at: At = None) -> float:
        """Return a number of a finding before this one, over all seeds; NaN where undefined."""
        return self._known.get((run, metric, set, at), {}).get(None, np.nan)

    def status_of(self, run: str, seed: int | None) -> str:
        """Return how a run ended; over all seeds, the worst of them."""
        seeds: Sequence[int] = self.seeds if seed is None else [seed]
        return max((self.result(run, s).status for s in seeds), key=STATUSES.index)

    def kind_of(self, run: str) -> str:
        """Return reference, method or control."""
        return self.result(run, self.seeds[0]).kind


STATUSES = ("ok", "collapsed", "diverged", SKIPPED)  # from good to bad

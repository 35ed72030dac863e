"""What the evaluation of a cell needs and is told: cached outputs, and whose they are."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from collateral.contract.attacks import MIA
from collateral.contract.showing import ALL_PICTURES, Showing
from collateral.plan import paths
from collateral.plan.fingerprint import stage_code
from collateral.plan.jobs import CellJob
from collateral.results import layout


class EvaluationJob(CellJob):
    """Similarities, and all numbers, of a cell."""

    @property
    def embeddings(self) -> list[str]:
        """The embeddings that the runs of each seed start from."""
        seeds = map(self.benchmark.base_seed, self.benchmark.seeds)
        return [self.path(paths.EMBEDDINGS, seed=seed) for seed in seeds]

    @property
    def outputs(self) -> list[str]:
        """The outputs of all runs; they stand for all files that a job writes."""
        # A third of the files: looking for the job behind each is what makes a large plan slow.
        pattern, cell = paths.run_files(paths.RUN)["outputs"], self.cell
        reference = self.benchmark.reference
        names = [reference, *(run.name for run in cell.unlearned), *cell.given]
        names = [name for name in names if name != layout.ORIGINAL]
        outputs = [self.path(pattern, seed=s, run=n) for s in self.benchmark.seeds for n in names]
        if layout.ORIGINAL in (*cell.runs, reference):
            base = paths.run_files(paths.BASE)["outputs"]
            outputs += [self.path(base, seed=seed) for seed in self.benchmark.base_seeds()]
        return outputs

    @property
    def trials(self) -> list[str]:
        """The trials of every tuned method."""
        return [self.path(paths.TRIALS, method=name) for name in self.cell.tuned]

    @property
    def support_sizes(self) -> list[str]:
        """What the teachers of every support size say, where the config asks for them."""
        seeds = self.benchmark.seeds if self.cell.support_sized else ()
        return [self.path(paths.SUPPORT_SIZES, seed=seed) for seed in seeds]

    @property
    def probes(self) -> list[str]:
        """What models show when they are used once more, where the config asks for it."""
        seeds = self.benchmark.seeds if self.cell.probed else ()
        return [self.path(paths.PROBE_SHOWS, seed=seed) for seed in seeds]

    @property
    def exposures(self) -> list[str]:
        """What each method does to the shadow models, where there are some."""
        return [self.path(paths.EXPOSED, run=run.name) for run in self.cell.exposed]

    @property
    def options(self) -> str:
        """The cell, its seeds and its runs."""
        seeds, cell = self.benchmark.seeds, self.cell
        lists: dict[str, Iterable[object]] = {
            "--cell": [cell.name],
            "--seeds": seeds,
            "--base-seeds": map(self.benchmark.base_seed, seeds),
            "--methods": cell.of_kind("method"),
            "--controls": cell.of_kind("control"),
            "--tuned": cell.tuned,
            "--tracked": cell.tracked,
            "--support-sized": [cell.support_sized.name] if cell.support_sized else [],
            "--exposed": [run.name for run in cell.exposed],
            "--attacks": dict.fromkeys([MIA, *self.benchmark.config.attacks]),
            "--probed": self.benchmark.config.probe.names if self.benchmark.config.probe else [],
        }
        if self.benchmark.reference != layout.RETRAIN:
            lists["--reference"] = [self.benchmark.reference]
        return shlex.join(word for key, words in lists.items() for word in (key, *map(str, words)))


class NeighboursJob(EvaluationJob):
    """Similarities alone, which need the data set and the base models' embeddings."""

    @property
    def code(self) -> str:
        """The code that computes them."""
        return stage_code("neighbours")


class PicturesJob(CellJob):
    """The images of a cell that its page may show."""

    @property
    def keep(self) -> Showing:
        """Which pictures of examples may be kept."""
        return self.cell.pictures

    @property
    def withheld(self) -> list[str]:
        """The forget sets, also of other cells, whose examples no page may show."""
        cells = self.benchmark.cells.values()
        names = [cell.name for cell in cells if cell.pictures != ALL_PICTURES]
        return [paths.SPLIT.format(benchmark=self.benchmark.name, cell=name) for name in names]

    @property
    def code(self) -> str:
        """The code that takes them from the data set."""
        return stage_code("pictures")

"""All numbers of a cell, from the files of all other jobs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from collateral.contract.rows import MIA
from collateral.plan import paths
from collateral.plan.jobs import list_cell_jobs
from collateral.plan.jobs._job import CellJob
from collateral.plan.work import num_tracked
from collateral.results import layout

# CPU seconds: to start, and for every example of every run, most of them for membership attacks.
START_SECONDS, EXAMPLE_SECONDS = 5.0, 8e-5
EXPOSED_SECONDS = 2e-7  # and for every margin, as often as there are models to fit a law to
TRACKED_SECONDS = 0.1  # and for every epoch of a tracked run, whatever its size
CELL_BYTES = 1_000_000  # metrics, tables and figures


class MetricsJob(CellJob):
    """The evaluation of a cell."""

    folder = paths.CELL
    record_file = ""
    bytes = CELL_BYTES

    @property
    def results(self) -> list[str]:
        """A file of each job whose results are evaluated; it stands for all files of the job."""
        # A third of the files: finding the job behind each is what makes a large plan slow.
        jobs = list_cell_jobs(self.benchmark, self.cell)
        results = [f"{job.out}/{job.evaluated}" for job in jobs if job.evaluated]
        if self.benchmark.evaluates_base(self.cell):
            base = paths.run_files(paths.BASE)["outputs"]
            results += [self.path(base, seed=seed) for seed in self.benchmark.base_seeds()]
        return results

    @property
    def options(self) -> str:
        """The cell, its seeds and its runs."""
        seeds, cell, config = self.benchmark.seeds, self.cell, self.benchmark.config
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
            "--attacks": dict.fromkeys([MIA, *config.attacks]),
            "--probed": config.probe.names if config.probe else [],
        }
        if self.benchmark.reference != layout.RETRAIN:
            lists["--reference"] = [self.benchmark.reference]
        return shlex.join(word for key, words in lists.items() for word in (key, *map(str, words)))

    @property
    def seconds(self) -> float:
        """CPU seconds, by the numbers of examples, runs, epochs and shadow models."""
        cell, workload, num_seeds = self.cell, self.workload, len(self.benchmark.seeds)
        num_runs = num_seeds * (len(cell.runs) + len(cell.given) + 1)
        sizes = workload.sizes(cell)
        epochs = num_seeds * sum(num_tracked(cell.runs[name], sizes) for name in cell.tracked)
        attacks = EXAMPLE_SECONDS * num_runs * workload.size.num_examples + TRACKED_SECONDS * epochs
        return START_SECONDS + attacks + self._exposure_seconds

    @property
    def _exposure_seconds(self) -> float:
        """Seconds to fit laws: one for each margin of a method, by all models of the pool."""
        shadows = self.benchmark.config.shadows
        fits = shadows.count**2 * self.workload.size.num_train if shadows else 0
        return EXPOSED_SECONDS * len(self.cell.exposed) * fits

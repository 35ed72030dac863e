"""Job that computes all metrics of a cell from the files of the cell's other jobs."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from collateral.jobs import description_class, kinds
from collateral.jobs._job import Inputs, Job, PlannedInCell
from collateral.plan.report_plan import cell_numbers, presenting_code
from collateral.results import layout
from collateral.results.plan import CellNumbers

# CPU seconds to start, and CPU seconds per example and run, mostly for membership attacks.
START_SECONDS, EXAMPLE_SECONDS = 0.2, 8e-6
CELL_BYTES = 1_000_000  # disk space of the metrics, tables and figures of a cell, in bytes


class MetricsJob(Job):
    """Evaluation of a cell."""

    folder = layout.CELL
    has_cost = False

    cell: str
    numbers: CellNumbers
    has_teacher: bool = False  # whether tuning used a teacher
    by_seed: tuple[str, ...] = ()  # kinds of jobs that the cell has once per seed, besides Retrain

    @property
    def inputs(self) -> Inputs:
        """Labels, forget sets and similarities of all rounds; records of the evaluated jobs."""
        # One file stands for all files of a job, because Snakemake needs time for each input.
        cells = dict.fromkeys([self.cell, *self.numbers.rounds])
        return {
            "labels": layout.LABELS,
            "split": [self.path(layout.SPLIT, cell=name) for name in cells],
            "neighbours": [self.path(layout.NEIGHBOURS, cell=name) for name in cells],
            "records": [f"{folder}/{layout.RECORD}" for folder in self._folders],
            **({"forecast": self.path(layout.FORECAST)} if self.numbers.has_forecast else {}),
        }

    @property
    def _folders(self) -> list[str]:
        """Folders of all jobs whose files the metrics may read."""
        of, seeds = self.numbers, self.numbers.seeds
        by_seed = [description_class(kind).folder for kind in self.by_seed]
        folders = [
            *self._runs(self.cell),
            *(self.path(layout.TUNE, method=name) for name in of.tuned),
            *([self.path(layout.TEACHER)] if self.has_teacher else []),
            *(self.path(pattern, seed=seed) for pattern in by_seed for seed in seeds),
            *(self.path(layout.EXPOSURE, run=run) for run in of.exposed),
            *(folder for name in of.rounds for folder in self._runs(name)),
        ]
        return list(dict.fromkeys(folders))

    def _runs(self, cell: str) -> list[str]:
        """Folders of the reference and of all runs of a cell, for all seeds."""
        of = self.numbers
        runs = dict.fromkeys([of.reference, *of.methods, *of.controls])
        return [
            self.path(layout.run_folder(run), cell=cell, run=run, seed=of.seed_of_model(run, place))
            for run in runs
            for place, seed in enumerate(of.seeds)
            if of.has_run(run, seed)
        ]

    @property
    def files(self) -> dict[str, str]:
        """Long tables of metrics and costs, and the findings that failed."""
        return self.in_folder(metrics=layout.METRICS, costs=layout.COSTS, problems=layout.PROBLEMS)


class PlannedMetrics(PlannedInCell):
    """Planned job that computes all metrics of a cell."""

    describes = MetricsJob
    is_presented = is_compared = False
    bytes = CELL_BYTES

    @property
    def values(self) -> dict[str, Any]:
        """What the numbers are computed from, and which jobs besides those of runs they read."""
        return {
            "numbers": cell_numbers(self.benchmark, self.cell),
            "has_teacher": bool(self.cell.teacher),
            "by_seed": tuple(self._kinds_by_seed()),
        }

    def _kinds_by_seed(self) -> Iterator[str]:
        """Yield the kinds of jobs that the cell has once per seed and that numbers read."""
        for name, kind in kinds().items():
            wildcards = [field.name for field in fields(kind)]
            if name == layout.RETRAIN or wildcards != ["benchmark", "cell", "seed"]:
                continue
            assert issubclass(kind, PlannedInCell), "a job with the wildcard `cell` is in a cell"
            if kind.evaluated and any(kind.list_in_cell(self.benchmark, self.cell)):
                yield name

    @property
    def code(self) -> str:
        """Fingerprint of the stage and of all findings."""
        return presenting_code("metrics")

    @property
    def seconds(self) -> float:
        """CPU seconds, estimated from the numbers of examples and runs."""
        num_runs = len(self.cell.runs) + len(self.cell.given) + 1
        examples = self.workload.size.num_examples * len(self.benchmark.seeds)
        return START_SECONDS + EXAMPLE_SECONDS * num_runs * examples

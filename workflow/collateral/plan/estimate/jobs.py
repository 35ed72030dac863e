"""The jobs of a config by rule, and what each computes: as many as a dry run plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collateral.contract.work import NOTHING, Work
from collateral.plan.grid import Cell
from collateral.plan.workload import Workload, num_tracked

# CPU seconds of jobs without a model, measured on an AMD EPYC: most are imports.
SECONDS = {
    "data": 15.0,
    "split": 1.0,
    "neighbours": 2.0,
    "pictures": 1.0,
    "plan": 3.0,
    "gather": 2.0,
    "tables": 2.0,
    "figures": 15.0,
    "theory": 25.0,
    "report": 4.0,
    "index": 0.5,
    "check": 0.1,
}
# The metrics of a cell: to start, and for every example of every run, the membership attacks most.
METRICS_START, METRICS_SECONDS = 5.0, 8e-5
EXPOSED_SECONDS = 2e-7  # and for every margin, as often as there are models to fit a law to
TRACKED_SECONDS = 0.1  # and for every epoch of a tracked run, whatever its size


@dataclass(frozen=True)
class Jobs:
    """Jobs that are alike: their rule, how many, and what each takes."""

    rule: str
    count: int
    work: Work = NOTHING
    seconds: float = 0.0  # besides the work

    @property
    def trains(self) -> bool:
        """Whether it has a model, and so a GPU where there is one."""
        return self.work is not NOTHING


def shared_jobs() -> Iterator[Jobs]:
    """Yield the jobs that there is one of, whatever the config."""
    yield from map(_small, ("theory", "index"))


def benchmark_jobs(workload: Workload) -> Iterator[Jobs]:
    """Yield all jobs of a benchmark."""
    benchmark = workload.benchmark
    yield from map(_small, ("data", "plan", "gather", "tables", "figures"))
    yield from map(_small, ("report", "check"))
    yield Jobs("base", len(benchmark.base_seeds()), workload.base())
    if shadows := benchmark.config.shadows:
        yield Jobs("shadow", shadows.count, workload.shadow())
    for cell in benchmark.cells.values():
        yield from _cell_jobs(workload, cell)


def _cell_jobs(workload: Workload, cell: Cell) -> Iterator[Jobs]:
    yield from map(_small, ("split", "neighbours", "pictures"))
    yield _metrics(workload, cell)
    yield from _reference_jobs(workload, cell)
    yield from _further_jobs(workload, cell)
    if cell.teacher:
        yield Jobs("teacher", 1, workload.teacher(cell))
    for name in cell.tuned:
        yield Jobs("tune", 1, workload.tune(cell, cell.runs[name]))
    first, *others = workload.benchmark.seeds
    for run in cell.unlearned:
        # On the first seed a tuning may have prepared for it; all other seeds are alike.
        yield Jobs(run.rule, 1, workload.run(cell, run, first))
        if others:
            yield Jobs(run.rule, len(others), workload.run(cell, run, others[0]))


def _metrics(workload: Workload, cell: Cell) -> Jobs:
    num_seeds, sizes = len(workload.benchmark.seeds), workload.sizes(cell)
    outputs = num_seeds * (len(cell.runs) + len(cell.given) + 1) * workload.size.num_examples
    epochs = num_seeds * sum(num_tracked(cell.runs[name], sizes) for name in cell.tracked)
    attacks = METRICS_SECONDS * outputs + TRACKED_SECONDS * epochs
    return Jobs("metrics", 1, seconds=METRICS_START + attacks + _exposure_seconds(workload, cell))


def _reference_jobs(workload: Workload, cell: Cell) -> Iterator[Jobs]:
    num_seeds = len(workload.benchmark.seeds)
    if workload.benchmark.config.retrain is not None:
        yield Jobs("retrain", num_seeds, workload.retrain(cell))
    if cell.given:
        yield Jobs("given", num_seeds * len(cell.given), workload.given())


def _further_jobs(workload: Workload, cell: Cell) -> Iterator[Jobs]:
    num_seeds = len(workload.benchmark.seeds)
    if cell.support_sized:
        yield Jobs("support_size", num_seeds, workload.support_size(cell))
    if cell.probed:
        yield Jobs("probe", num_seeds, workload.probe(cell))
    for run in cell.exposed:
        yield Jobs("expose", 1, workload.expose(cell, run))


def _exposure_seconds(workload: Workload, cell: Cell) -> float:
    """Return how long laws take: of each margin of a method, one by all models of the pool."""
    shadows = workload.benchmark.config.shadows
    fits = shadows.count**2 * workload.size.num_train if shadows else 0
    return EXPOSED_SECONDS * len(cell.exposed) * fits


def _small(rule: str) -> Jobs:
    return Jobs(rule, 1, seconds=SECONDS[rule])

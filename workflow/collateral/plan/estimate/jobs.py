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
    for cell in benchmark.cells.values():
        yield from _cell_jobs(workload, cell)


def _cell_jobs(workload: Workload, cell: Cell) -> Iterator[Jobs]:
    seeds = workload.benchmark.seeds
    yield from map(_small, ("split", "neighbours"))
    outputs = len(seeds) * (len(cell.runs) + len(cell.given) + 1) * workload.size.num_examples
    sizes = workload.sizes(cell)
    epochs = len(seeds) * sum(num_tracked(cell.runs[name], sizes) for name in cell.tracked)
    attacks = METRICS_SECONDS * outputs + TRACKED_SECONDS * epochs
    yield Jobs("metrics", 1, seconds=METRICS_START + attacks)
    if workload.benchmark.config.retrain is not None:
        yield Jobs("retrain", len(seeds), workload.retrain(cell))
    if cell.given:
        yield Jobs("given", len(seeds) * len(cell.given), workload.given())
    if cell.support_sized:
        yield Jobs("support_size", len(seeds), workload.support_size(cell))
    if cell.teacher:
        yield Jobs("teacher", 1, workload.teacher(cell))
    for name in cell.tuned:
        yield Jobs("tune", 1, workload.tune(cell, cell.runs[name]))
    for run in cell.unlearned:
        # On the first seed a tuning may have prepared for it; all other seeds are alike.
        yield Jobs(run.rule, 1, workload.run(cell, run, seeds[0]))
        if len(seeds) > 1:
            yield Jobs(run.rule, len(seeds) - 1, workload.run(cell, run, seeds[1]))


def _small(rule: str) -> Jobs:
    return Jobs(rule, 1, seconds=SECONDS[rule])

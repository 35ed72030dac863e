"""Results without Snakemake's metadata: their records tell whether they are as planned.

Snakemake (9.27) compares neither values nor code where its metadata is missing, as after
`.snakemake` was deleted, or after a folder was copied without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from collateral.plan import paths
from collateral.plan.cached import presented
from collateral.plan.comparison import record_differences, records
from collateral.plan.grid import Benchmark
from collateral.plan.jobs import BenchmarkJob
from collateral.results.files import Unsound

PRESENTED = "no metadata; tables, figures and pages are then made again"
MOST_NAMED = 5


@dataclass
class Unwatched:
    """The jobs of a plan that have results and no metadata, as far as Snakemake asked for them."""

    grid: Mapping[str, Benchmark]
    is_met: bool = False  # there is at least one
    stale: dict[str, str] = field(default_factory=dict)  # how each differs, by its record

    def reason(self, outputs: Iterable[str]) -> str:
        """Return why a job must run again, by its outputs; "" if it need not, or never ran."""
        for path in filter(self._is_known, map(str, outputs)):
            self.is_met = True
            if path in self._presented:
                return PRESENTED
            if found := self._difference(path):
                self.stale[path] = found
                return f"{path}: {found}"
        return ""

    def _is_known(self, path: str) -> bool:
        return (path in self._presented or path in self._jobs) and Path(path).exists()

    def lines(self) -> list[str]:
        """Return one line that names what runs again; none if all results have metadata."""
        if not self.is_met:
            return []
        head = "Some results have no metadata; their records were compared with the plan:"
        if not self.stale:
            return [f"{head} all as planned."]
        named = [f"{path} ({found})" for path, found in sorted(self.stale.items())][:MOST_NAMED]
        more = len(self.stale) - len(named)
        listed = ", ".join([*named, *([f"{more} more"] if more else [])])
        count = len(self.stale)
        return [
            f"{head} {count} not as planned, run again with all that depends on them: {listed}."
        ]

    def _difference(self, path: str) -> str:
        name, job = self._jobs[path]
        try:
            return "; ".join(record_differences(job, name, Path(job.path(paths.BENCHMARK))))
        except Unsound as error:
            return error.reason

    @cached_property
    def _jobs(self) -> dict[str, tuple[str, BenchmarkJob]]:
        """Every planned job that has a record, and the record below the benchmark's folder."""
        found = (pair for benchmark in self.grid.values() for pair in records(benchmark))
        return {f"{job.path(paths.BENCHMARK)}/{name}": (name, job) for name, job in found}

    @cached_property
    def _presented(self) -> set[str]:
        """What is made in seconds from outputs and the plan."""
        of_benchmarks = {path for one in self.grid.values() for path in presented(one)}
        checked = {paths.CHECKED.format(benchmark=name) for name in self.grid}
        return {*of_benchmarks, *checked, paths.INDEX, paths.record(paths.THEORY)}

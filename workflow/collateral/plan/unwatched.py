"""Compare results without Snakemake's metadata with the plan, by their records.

Snakemake (9.27) compares neither values nor code where its metadata is missing, as after
`.snakemake` was deleted, or after a folder was copied without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from collateral.plan import paths
from collateral.plan.diff import list_records, record_differences
from collateral.plan.grid import Benchmark
from collateral.plan.jobs._job import Job
from collateral.plan.missing_inputs import list_presented
from collateral.results.files import InvalidResultError

PRESENTED = "no metadata; tables, figures and pages are then made again"
MOST_NAMED = 5


@dataclass
class Unwatched:
    """Finished jobs without Snakemake's metadata, among the jobs that were checked so far."""

    grid: Mapping[str, Benchmark]
    is_met: bool = False  # whether a job without metadata was found
    stale: dict[str, str] = field(default_factory=dict)  # differences from the plan, by record

    def reason(self, outputs: Iterable[str]) -> str:
        """Return why the job of these outputs must run again; empty if it need not run."""
        for path in filter(self._is_known, map(str, outputs)):
            self.is_met = True
            if path in self._report_files:
                return PRESENTED
            if found := self._difference(path):
                self.stale[path] = found
                return f"{path}: {found}"
        return ""

    def _is_known(self, path: str) -> bool:
        return (path in self._report_files or path in self._jobs) and Path(path).exists()

    def lines(self) -> list[str]:
        """Return one line that names the jobs that run again; empty if all jobs have metadata."""
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
        job = self._jobs[path]
        try:
            return "; ".join(record_differences(job, Path(job.path(paths.BENCHMARK))))
        except InvalidResultError as error:
            return error.reason

    @cached_property
    def _jobs(self) -> dict[str, Job]:
        """All planned jobs with a record, by the path of the record."""
        found = (list_records(benchmark).items() for benchmark in self.grid.values())
        return {f"{job.path(paths.BENCHMARK)}/{name}": job for jobs in found for name, job in jobs}

    @cached_property
    def _report_files(self) -> set[str]:
        """Files of tables, figures and pages, which take only seconds to make."""
        of_benchmarks = {path for one in self.grid.values() for path in list_presented(one)}
        checked = {paths.CHECKED.format(benchmark=name) for name in self.grid}
        pages = {paths.INDEX, paths.THEORY_PAGE}
        return {*of_benchmarks, *checked, *pages, paths.record(paths.THEORY)}

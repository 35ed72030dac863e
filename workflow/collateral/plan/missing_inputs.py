"""Files that tables, figures and pages are made from, and which of them are missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from collateral.plan import paths
from collateral.plan.diff import compare
from collateral.plan.grid import Benchmark
from collateral.plan.jobs import list_jobs
from collateral.plan.jobs._job import Job

MOST_NAMED = 20


@dataclass(frozen=True)
class Needed:
    """A file that tables, figures and pages are made from, and the job that makes it."""

    path: str
    job: Job

    @property
    def exists(self) -> bool:
        """Tell whether it is on disk."""
        return Path(self.path).is_file()

    @property
    def remedy(self) -> str:
        """Say how to get it."""
        by_run = f"let `make run` {self.job.remedy} (rule {self.job.rule}){self._price}"
        return f"{self.path}: missing; copy it from where it was made, or {by_run}"

    @property
    def _price(self) -> str:
        sources = self.job.sources
        gone = [path for path in sources if not Path(path).is_file()]
        if gone:
            return f", which takes training: {gone[0]} is missing too"
        return ", without training" if sources else ""


def list_needed(benchmark: Benchmark) -> Iterator[Needed]:
    """Yield all files that the pages of a benchmark are made from."""
    for job in list_jobs(benchmark):
        yield from (Needed(f"{job.out}/{name}", job) for name in job.files)


def find_missing(benchmarks: Iterable[Benchmark]) -> list[Needed]:
    """Return those files that are missing."""
    return [one for benchmark in benchmarks for one in list_needed(benchmark) if not one.exists]


def describe_missing(files: list[Needed]) -> str:
    """Return a line for each of the first that are missing, and how many there are."""
    lines = [one.remedy for one in files]
    return _first_lines(lines, f"{len(files)} missing: no table, figure or page was made")


def describe_stale(lines: list[str]) -> str:
    """Return a line for each of the first differences from the plan, and how many there are."""
    end = (
        f"{len(lines)} differences from the plan (`make run` runs these jobs again): "
        "no table, figure or page was made"
    )
    return _first_lines(lines, end)


def _first_lines(lines: list[str], end: str) -> str:
    more = len(lines) - MOST_NAMED
    rest = [f"... and {more} more"] if more > 0 else []
    return "\n".join([*lines[:MOST_NAMED], *rest, end])


def find_stale(benchmarks: Iterable[Benchmark]) -> list[str]:
    """Return a line for each value in which finished jobs differ from the plan."""
    found = []
    for benchmark in benchmarks:
        folder = Path(paths.BENCHMARK.format(benchmark=benchmark.name))
        different = compare(benchmark, folder).different
        found += [f"{folder / name}: {line}" for name, lines in different.items() for line in lines]
    return found


def find_lost(benchmarks: Iterable[Benchmark], others: Iterable[str] = ()) -> list[str]:
    """Return files that were deleted, for a run to make again; also of `others`.

    Snakemake does not miss a file as long as what was made of it is there: it would keep the
    numbers, and where nothing may be trained, show them as new.
    """
    of_benchmarks = [path for benchmark in benchmarks for path in _lost(benchmark)]
    gone = [path for path in others if not Path(path).exists()]
    return of_benchmarks + (gone if Path(paths.INDEX).exists() else [])


def _lost(benchmark: Benchmark) -> Iterator[str]:
    was_whole = Path(paths.METRICS.format(benchmark=benchmark.name)).exists()
    for one in find_missing([benchmark]):
        if was_whole or Path(one.path).parent.exists():
            yield one.path
    if Path(paths.CHECKED.format(benchmark=benchmark.name)).exists():
        yield from (path for path in list_presented(benchmark) if not Path(path).exists())


def list_presented(benchmark: Benchmark) -> Iterator[str]:
    """Yield the files of metrics, tables, figures and pages."""
    for cell in benchmark.cells:
        yield from (path.format(benchmark=benchmark.name, cell=cell) for path in paths.OF_CELLS)
    yield from (path.format(benchmark=benchmark.name) for path in paths.OF_BENCHMARKS)

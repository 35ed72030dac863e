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
    """A file from which tables, figures and pages are made, and the job that writes it."""

    path: str
    job: Job

    @property
    def exists(self) -> bool:
        """Tell whether the file exists."""
        return Path(self.path).is_file()

    @property
    def remedy(self) -> str:
        """Return a sentence on how to get the file."""
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
    """Yield all files from which the pages of a benchmark are made."""
    for job in list_jobs(benchmark):
        yield from (Needed(f"{job.out}/{name}", job) for name in job.files)


def find_missing(benchmarks: Iterable[Benchmark]) -> list[Needed]:
    """Return the missing files from which pages are made."""
    return [one for benchmark in benchmarks for one in list_needed(benchmark) if not one.exists]


def describe_missing(files: list[Needed]) -> str:
    """Return one line for each of the first missing files, and the total number."""
    lines = [one.remedy for one in files]
    return _first_lines(lines, f"{len(files)} missing: no table, figure or page was made")


def describe_stale(lines: list[str]) -> str:
    """Return one line for each of the first differences from the plan, and the total number."""
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
    """Return one line per value in which the record of a finished job differs from the plan."""
    found = []
    for benchmark in benchmarks:
        folder = Path(paths.BENCHMARK.format(benchmark=benchmark.name))
        different = compare(benchmark, folder).different
        found += [f"{folder / name}: {line}" for name, lines in different.items() for line in lines]
    return found


def find_lost(benchmarks: Iterable[Benchmark], others: Iterable[str] = ()) -> list[str]:
    """Return deleted output files that a run should make again, including those of `others`.

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

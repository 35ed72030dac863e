"""Compare results with the plan: find records that differ, and files that are missing."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from collateral.jobs import list_jobs
from collateral.jobs._job import Job
from collateral.plan import paths
from collateral.plan.grid import Benchmark
from collateral.results import layout
from collateral.results.files import InvalidResultError
from collateral.results.provenance import INPUTS, read_signed

SHOWN_LENGTH = 60  # maximum number of characters of a value in a message
MOST_LISTED = 20  # maximum number of missing files, or of differences from the plan, in a message
MOST_SHOWN = 10  # maximum number of differences that `verify` lists
MOST_NAMED = 5  # maximum number of records that the warning about missing metadata names
PRESENTED = "no metadata; tables, figures and pages are then made again"
_MISSING = object()


@dataclass(frozen=True)
class Comparison:
    """The differences between results and plan."""

    different: dict[str, list[str]]  # dict from path of a record to lines on its differences
    missing: list[str]  # records of planned jobs that are not in the results
    unplanned: list[str]  # records in the results whose jobs are not planned


def compare(benchmark: Benchmark, folder: Path) -> Comparison:
    """Compare the records of all finished jobs of a benchmark with the plan."""
    jobs = list_records(benchmark)
    different, missing = {}, []
    for name, job in jobs.items():
        if not (folder / name).exists():
            missing.append(name)
        elif lines := record_differences(job, folder):
            different[name] = lines
    found = (path.relative_to(folder).as_posix() for path in folder.rglob(layout.RECORD))
    return Comparison(different, missing, sorted(n for n in found if n not in jobs and _is_job(n)))


def list_records(benchmark: Benchmark) -> dict[str, Job]:
    """Return all jobs that have a record, by the record's path in the benchmark's folder."""
    return {job.record_name: job for job in list_jobs(benchmark) if job.record_file}


def _is_job(record: str) -> bool:
    """Return False for records of tables, figures and files of `prepare`, which no plan lists."""
    return {layout.PREPARED, layout.TABLES, layout.FIGURES}.isdisjoint(Path(record).parts)


def record_differences(job: Job, folder: Path) -> list[str]:
    """Return how the record of a finished job differs from the plan, one line per field."""
    found = read_signed(folder / job.record_name)
    found[INPUTS] = sorted(path for path in found.get(INPUTS, {}) if not _is_prepared(path))
    try:
        planned = job.record(found, folder)
    # The record was written by another version of Collateral.
    except (KeyError, TypeError, ValueError):
        return ["it cannot be compared: another version wrote it"]
    differences = find_differences({key: found.get(key) for key in planned}, planned)
    return [f"{key}: {value}, planned {other}" for key, value, other in differences]


def describe(folder: Path, found: Comparison) -> Iterator[str]:
    """Yield lines about records that differ from the plan, are missing, or are not planned."""
    splits = [name for name in found.different if Path(name).name == Path(layout.SPLIT).name]
    if changed := sum(any(map(_is_of_request, found.different[name])) for name in splits):
        cells = f"{changed} cell{'s' * (changed != 1)}"
        yield f"{folder}: made for another request: the forget set of {cells} has changed"
    lines = [(name, line) for name, lines in found.different.items() for line in lines]
    kinds = [f"{folder}: {line.partition(':')[0]}" for _, line in lines]
    yield from summarize([f"{folder / name}: {line}" for name, line in lines], kinds)
    if found.different:
        yield f"{folder}: not as planned: {len(found.different)}; a run makes these again"
    if found.missing:
        yield f"{folder}: planned and not there: {len(found.missing)}, as {found.missing[0]}"
    if found.unplanned:
        yield f"{folder}: there and not planned: {len(found.unplanned)}, as {found.unplanned[0]}"
    if not (found.different or found.missing):
        yield f"{folder}: all as planned"


def _is_of_request(line: str) -> bool:
    """Tell whether a difference in split.json means another forget set, and not only other code."""
    return line.startswith("chosen")


def summarize(lines: Sequence[str], kinds: Iterable[str]) -> Iterator[str]:
    """Yield all lines or, if they are many, how many there are of each kind, and the first lines.

    `kinds` has the kind of each line.
    """
    if len(lines) > MOST_SHOWN:
        yield from (f"{kind}: {count} times" for kind, count in Counter(kinds).items())
    yield from _first_lines(lines, MOST_SHOWN)


def _is_prepared(path: str) -> bool:
    """Tell whether `prepare` wrote this file; the plan does not list such files."""
    return layout.PREPARED in Path(path).parts


def find_differences(one: Any, other: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the path of each field that differs, with both values shortened for a message."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            below = f"{place}.{key}" if place else str(key)
            yield from find_differences(one.get(key, _MISSING), other.get(key, _MISSING), below)
    elif one != other:
        yield place, _shorten(one), _shorten(other)


def _shorten(value: Any) -> str:
    if value is _MISSING:
        return "nothing"
    text = json.dumps(value)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}..."


@dataclass(frozen=True)
class Needed:
    """A file from which tables, figures and pages are made, and the job that writes it."""

    path: str
    job: Job

    @property
    def remedy(self) -> str:
        """Return a sentence that says that the file is missing, and how to restore it."""
        gone = [path for path in self.job.sources if not Path(path).is_file()]
        price = ", without training" if self.job.sources else ""
        price = f", which takes training: {gone[0]} is missing too" if gone else price
        by_run = f"let `make run` {self.job.remedy} (rule {self.job.rule}){price}"
        return f"{self.path}: missing; copy it from where it was made, or {by_run}"


def list_needed(benchmark: Benchmark) -> Iterator[Needed]:
    """Yield all files from which the pages of a benchmark are made."""
    for job in list_jobs(benchmark):
        yield from (Needed(f"{job.out}/{name}", job) for name in job.files)


def find_missing(benchmarks: Iterable[Benchmark]) -> list[Needed]:
    """Return the missing files from which pages are made."""
    needed = (one for benchmark in benchmarks for one in list_needed(benchmark))
    return [one for one in needed if not Path(one.path).is_file()]


def describe_missing(files: list[Needed]) -> str:
    """Return the first missing files, one per line, and how many there are."""
    lines = _first_lines([one.remedy for one in files], MOST_LISTED)
    return "\n".join([*lines, f"{len(files)} missing: no table, figure or page was made"])


def describe_stale(lines: list[str]) -> str:
    """Return the first differences from the plan, one per line, and how many there are."""
    end = (
        f"{len(lines)} differences from the plan (`make run` runs these jobs again): "
        "no table, figure or page was made"
    )
    return "\n".join([*_first_lines(lines, MOST_LISTED), end])


def _first_lines(lines: Sequence[str], most: int) -> list[str]:
    """Return the first `most` lines and, if there are more, a line with the number of others."""
    more = len(lines) - most
    return [*lines[:most], *([f"... and {more} more"] if more > 0 else [])]


def find_stale(benchmarks: Iterable[Benchmark]) -> list[str]:
    """Compare records of finished jobs with the plan; return a line for each value that differs."""
    found = []
    for benchmark in benchmarks:
        folder = Path(paths.BENCHMARK.format(benchmark=benchmark.name))
        different = compare(benchmark, folder).different
        found += [f"{folder / name}: {line}" for name, lines in different.items() for line in lines]
    return found


def find_lost(benchmarks: Iterable[Benchmark], others: Iterable[str] = ()) -> list[str]:
    """Return deleted output files, and deleted files of `others`; a run should make them again.

    Snakemake does not notice a deleted file while the files made from it exist: it would keep the
    old numbers, and `make figures` would show them as if they were new.
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
    folder = paths.BENCHMARK.format(benchmark=benchmark.name)
    for cell in benchmark.cells:
        yield from (f"{folder}/{cell}/{name}" for name in layout.CELL_NUMBERS)
    yield from (f"{folder}/{name}" for name in layout.PRESENTED)


@dataclass
class Unwatched:
    """Finished jobs without Snakemake's metadata, among the jobs that were checked so far."""

    grid: Mapping[str, Benchmark]
    is_met: bool = False  # whether any job without metadata was found so far
    # Dict from path of a record to a description of its differences from the plan.
    stale: dict[str, str] = field(default_factory=dict)

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
        """Return a line about finished jobs without metadata; empty if all jobs have metadata."""
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

"""Compare the records of finished jobs with the current plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collateral.plan.grid import Benchmark
from collateral.plan.jobs import list_jobs
from collateral.plan.jobs._job import Job
from collateral.results import layout
from collateral.results.json_diff import find_differences
from collateral.results.provenance import INPUTS, read_signed


@dataclass(frozen=True)
class Comparison:
    """The differences between results and plan."""

    different: dict[str, list[str]]  # by record: one line for each field that differs
    missing: list[str]  # records of planned jobs that are not in the results
    unplanned: list[str]  # records in the results whose jobs are not planned


def compare(benchmark: Benchmark, folder: Path) -> Comparison:
    """Compare all jobs of a benchmark that have a record with the plan."""
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
    """Return every job that has a record, by the path of its record in the benchmark."""
    return {job.record_name: job for job in list_jobs(benchmark) if job.record_file}


def _is_job(record: str) -> bool:
    """Tell whether a record belongs to a job of the list, and not to tables or prepared files."""
    return {layout.PREPARED, layout.TABLES, layout.FIGURES}.isdisjoint(Path(record).parts)


def record_differences(job: Job, folder: Path) -> list[str]:
    """Return how the record of a finished job differs from the plan, one line per field."""
    found = read_signed(folder / job.record_name)
    found[INPUTS] = sorted(path for path in found.get(INPUTS, {}) if not _is_prepared(path))
    try:
        planned = job.record(found, folder)
    except (KeyError, TypeError, ValueError):  # written by another version
        return ["it cannot be compared: another version wrote it"]
    differences = find_differences({key: found.get(key) for key in planned}, planned)
    return [f"{key}: {value}, planned {other}" for key, value, other in differences]


def describe(folder: Path, found: Comparison) -> Iterator[str]:
    """Yield lines that name the jobs that a run repeats, and the numbers of missing records."""
    for name, lines in found.different.items():
        yield from (f"{folder / name}: {line}" for line in lines)
    if found.different:
        yield f"{folder}: not as planned: {len(found.different)}; a run makes these again"
    if found.missing:
        yield f"{folder}: planned and not there: {len(found.missing)}, as {found.missing[0]}"
    if found.unplanned:
        yield f"{folder}: there and not planned: {len(found.unplanned)}, as {found.unplanned[0]}"
    if not (found.different or found.missing):
        yield f"{folder}: all as planned"


def _is_prepared(path: str) -> bool:
    """Tell whether a file was prepared by another job; the values tell by which."""
    return layout.PREPARED in Path(path).parts

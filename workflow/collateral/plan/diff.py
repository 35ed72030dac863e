"""Compare the records of finished jobs with the current plan."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collateral.plan.grid import Benchmark
from collateral.plan.jobs import list_jobs
from collateral.plan.jobs._job import Job
from collateral.results import layout
from collateral.results.provenance import INPUTS, read_signed

SHOWN_LENGTH = 60  # longest value in a message, in characters
_MISSING = object()


@dataclass(frozen=True)
class Comparison:
    """The differences between results and plan."""

    different: dict[str, list[str]]  # lines about the fields that differ, by path of the record
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
    """Return all jobs that have a record, by the record's path in the benchmark's folder."""
    return {job.record_name: job for job in list_jobs(benchmark) if job.record_file}


def _is_job(record: str) -> bool:
    """Tell whether a record belongs to a listed job, and not to tables or prepared files."""
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
    """Tell whether another job prepared a file; the planned values show which job."""
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

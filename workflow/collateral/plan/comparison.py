"""What the records of finished jobs say, against what the plan would have them say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collateral.plan.evaluation import NeighboursJob, PicturesJob
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.jobs import BaseJob, BenchmarkJob, DataJob, GivenJob, RetrainJob, SplitJob
from collateral.plan.method_jobs import UnlearnJob, support_size_job, teacher_job, tune_job
from collateral.plan.planned_records import planned_record
from collateral.plan.probe_jobs import ProbeJob
from collateral.plan.shadow_jobs import ShadowJob, expose_job
from collateral.results import layout
from collateral.results.chain import INPUTS, read_sealed
from collateral.results.fields import differing


@dataclass(frozen=True)
class Comparison:
    """How results and plan differ."""

    different: dict[str, list[str]]  # by record: what, a line a field
    missing: list[str]  # records of jobs that are planned
    unplanned: list[str]  # records of jobs that are not


def compare(benchmark: Benchmark, folder: Path) -> Comparison:
    """Compare all jobs of a benchmark that have a record with the plan."""
    jobs = dict(records(benchmark))
    different, missing = {}, []
    for name, job in jobs.items():
        if not (folder / name).exists():
            missing.append(name)
        elif lines := record_differences(job, name, folder):
            different[name] = lines
    found = (path.relative_to(folder).as_posix() for path in folder.rglob(layout.RECORD))
    return Comparison(different, missing, sorted(n for n in found if n not in jobs and _is_job(n)))


def records(benchmark: Benchmark) -> Iterator[tuple[str, BenchmarkJob]]:
    """Yield every job with the record, below the benchmark's folder, that says what it was."""
    yield layout.DATA_RECORD, DataJob(benchmark)
    for seed in benchmark.base_seeds():
        yield _record(layout.BASE, seed=seed), BaseJob(benchmark)
    for member in range(benchmark.pool.count if benchmark.config.shadows else 0):
        yield _record(layout.SHADOW, member=member), ShadowJob(benchmark, member)
    for name, cell in benchmark.cells.items():
        yield layout.SPLIT.format(cell=name), SplitJob(benchmark, cell)
        yield layout.NEIGHBOURS_RECORD.format(cell=name), NeighboursJob(benchmark, cell)
        yield layout.PICTURES_RECORD.format(cell=name), PicturesJob(benchmark, cell)
        if cell.teacher:
            yield _record(layout.TEACHER, cell=name), teacher_job(benchmark, cell)
        for method in cell.tuned:
            yield _record(layout.TUNE, cell=name, method=method), tune_job(benchmark, cell, method)
        for run in cell.exposed:
            place = _record(layout.EXPOSURE, cell=name, run=run.name)
            yield place, expose_job(benchmark, cell, run.name)
        for seed in benchmark.seeds:
            yield from _of_seed(benchmark, cell, seed)


def _of_seed(benchmark: Benchmark, cell: Cell, seed: int) -> Iterator[tuple[str, BenchmarkJob]]:
    place = {"cell": cell.name, "seed": seed}
    if benchmark.reference == layout.RETRAIN:
        yield _record(layout.RUN, run=layout.RETRAIN, **place), RetrainJob(benchmark, cell)
    for name in cell.given:
        yield _record(layout.RUN, run=name, **place), GivenJob(benchmark, cell, name)
    for run in cell.unlearned:
        yield _record(layout.RUN, run=run.name, **place), UnlearnJob(benchmark, cell, run, seed)
    if cell.support_sized:
        yield _record(layout.SUPPORT_SIZE, **place), support_size_job(benchmark, cell, seed)
    if cell.probed:
        yield _record(layout.PROBE, **place), ProbeJob(benchmark, cell, seed)


def _record(folder: str, **wildcards: Any) -> str:
    return f"{folder.format(**wildcards)}/{layout.RECORD}"


def _is_job(record: str) -> bool:
    """Tell whether a record is of a job that computes a model, or more of them."""
    return {layout.PREPARED, layout.TABLES, layout.FIGURES}.isdisjoint(Path(record).parts)


def record_differences(job: BenchmarkJob, name: str, folder: Path) -> list[str]:
    """Return how the record of a finished job differs from the plan, one line per field."""
    said = read_sealed(folder / name)
    said[INPUTS] = sorted(place for place in said.get(INPUTS, {}) if not _is_shared(place))
    try:
        planned = planned_record(job, name, said, folder)
    except (KeyError, TypeError, ValueError):  # written by another version
        return ["it cannot be compared: another version wrote it"]
    found = differing({key: said.get(key) for key in planned}, planned)
    return [f"{key}: {value}, planned {other}" for key, value, other in found]


def describe(folder: Path, found: Comparison) -> Iterator[str]:
    """Yield what a run will make again, and how much is not there at all."""
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


def _is_shared(place: str) -> bool:
    """Tell whether another job prepared this: which, follows from the values."""
    return layout.PREPARED in Path(place).parts

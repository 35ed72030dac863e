"""What the records of finished jobs say, against what the plan would have them say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collateral.config.schema import BenchmarkConfig
from collateral.contract.params import TrainingParams
from collateral.contract.plugins import params_class, prepare_values
from collateral.plan import paths
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.jobs import (
    BaseJob,
    BenchmarkJob,
    DataJob,
    GivenJob,
    RetrainJob,
    SplitJob,
    as_json,
)
from collateral.plan.method_jobs import (
    SUPPORT,
    MethodJob,
    SupportSizeJob,
    TeacherJob,
    TuneJob,
    UnlearnJob,
    support_size_job,
    teacher_job,
    tune_job,
)
from collateral.plan.probe_jobs import ProbeJob
from collateral.plan.shadow_jobs import ExposeJob, ShadowJob, expose_job, pool_of
from collateral.results import layout
from collateral.results.chain import INPUTS, content_hash, read_sealed
from collateral.results.fields import differing
from collateral.results.files import read_json

Said = dict[str, Any]
REPLACED = ("search", *SUPPORT)  # by teachers on supports of every size


@dataclass(frozen=True)
class Comparison:
    """How results and plan differ."""

    different: dict[str, list[str]]  # by record: what, a line a field
    missing: list[str]  # records of jobs that are planned
    unplanned: list[str]  # records of jobs that are not


def compare(benchmark: Benchmark, folder: Path) -> Comparison:
    """Compare all jobs of a benchmark that have a record with the plan."""
    jobs = dict(_records(benchmark))
    different, missing = {}, []
    for name, job in jobs.items():
        if not (folder / name).exists():
            missing.append(name)
        elif lines := list(_differences(job, name, folder)):
            different[name] = lines
    found = (path.relative_to(folder).as_posix() for path in folder.rglob(layout.RECORD))
    return Comparison(different, missing, sorted(n for n in found if n not in jobs and _is_job(n)))


def _records(benchmark: Benchmark) -> Iterator[tuple[str, BenchmarkJob]]:
    """Yield every job with the record, below the benchmark's folder, that says what it was."""
    yield layout.DATA_RECORD, DataJob(benchmark)
    for seed in benchmark.base_seeds():
        yield _record(layout.BASE, seed=seed), BaseJob(benchmark)
    for member in range(pool_of(benchmark).count if benchmark.config.shadows else 0):
        yield _record(layout.SHADOW, member=member), ShadowJob(benchmark, member)
    for name, cell in benchmark.cells.items():
        yield layout.SPLIT.format(cell=name), SplitJob(benchmark, cell)
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


def _differences(job: BenchmarkJob, name: str, folder: Path) -> Iterator[str]:
    said = read_sealed(folder / name)
    said[INPUTS] = sorted(place for place in said.get(INPUTS, {}) if not _is_shared(place))
    if isinstance(job, SplitJob):
        said = said["chosen"]
    planned = _planned(job, name, said, folder)
    for key, value, other in differing({key: said.get(key) for key in planned}, planned):
        yield f"{key}: {value}, planned {other}"


def _is_shared(place: str) -> bool:
    """Tell whether another job prepared this: which, follows from the values."""
    return layout.PREPARED in Path(place).parts


def _planned(job: BenchmarkJob, name: str, said: Said, folder: Path) -> Said:
    """Return what a record would say if the job ran now, as far as the plan tells."""
    match job:
        case DataJob():
            return {"name": job.name, "options": json.loads(job.options)}
        case SplitJob():
            return {"kind": job.kind, **_comparable(job.cell.forget.params, said)}
        case MethodJob():
            return _of_kind(job, said, folder)
    return _of_model(job, name, said)


def _of_model(job: BenchmarkJob, name: str, said: Said) -> Said:
    """Return the same of a job that trains a model, takes one as it is, or asks it once more."""
    match job:
        case BaseJob() | RetrainJob():
            return _trained(job, name, said)
        case GivenJob():
            return _given(job, name, said)
        case ProbeJob():
            return _probed(job)
        case ShadowJob():
            return _shadow(job, said)
    raise AssertionError(job)


def _of_kind(job: MethodJob, said: Said, folder: Path) -> Said:
    """Return the same of a job that runs a method, by what it does with it."""
    match job:
        case TuneJob():
            method = job.run.method
            trials = [method.trials(), as_json(method.default_trial())]
            params = job.run.params.model_dump(mode="json")
            told = {"trials": trials, "params": params, "select": job.benchmark.config.select}
            return {**_of_method(job, job.teacher), **told}
        case TeacherJob():
            params = prepare_values(job.run.method.uses, job.run.params)
            return {**_of_method(job), "params": params}
        case UnlearnJob():
            inputs = _of_method(job)[INPUTS] + _below(job, [*job.selected, *job.retrained])
            params = _final_params(job, said["params"], folder)
            return {
                **_of_method(job),
                "run": job.run.name,
                INPUTS: sorted(inputs),
                "params": params,
            }
        case ExposeJob():
            return {"run": job.run.name, **_exposed(job, said["params"], folder)}
        case SupportSizeJob():
            params = {**said["params"], **_teachers(job, folder)}
            return {**_of_method(job, job.selected), "params": params}
    raise AssertionError(job)


def _comparable(params: Mapping[str, Any], chosen: Said) -> Said:
    """Return what the record of a forget set repeats; a class by number has its name there."""
    return {key: value for key, value in params.items() if type(value) is type(chosen.get(key))}


def _trained(job: BaseJob | RetrainJob, name: str, said: Said) -> Said:
    seed = _seed_in(name)
    split = [layout.SPLIT.format(cell=job.cell.name)] if isinstance(job, RetrainJob) else []
    return {
        "run": layout.RETRAIN if split else "base",
        "model": job.model,
        "code": job.training_code,
        "seed": seed,
        "params": TrainingParams.model_validate_json(job.training).model_dump(mode="json"),
        INPUTS: sorted([layout.DATA, *split]),
        **_weights(job, seed, said),
    }


def _shadow(job: ShadowJob, said: Said) -> Said:
    pool = pool_of(job.benchmark)
    return {
        "model": job.model,
        "code": job.code,
        "seed": job.member,
        "params": TrainingParams.model_validate_json(job.training).model_dump(mode="json"),
        "pool": {"count": pool.count, "share": pool.share},
        INPUTS: [layout.DATA],
        **_init(job.benchmark.config, said),
    }


def _exposed(job: ExposeJob, said: Said, folder: Path) -> Said:
    margins = [file.replace(layout.MODEL, layout.MARGINS) for file in job.shadows]
    files = _below(job, [*job.shadows, *margins, *job.selected])
    return {
        "model": job.model,
        "code": job.code,
        "seed": job.seed,
        "params": _final_params(job, said, folder),
        INPUTS: sorted([layout.DATA, layout.SPLIT.format(cell=job.cell.name), *files]),
    }


def _weights(job: BaseJob | RetrainJob, seed: int, said: Said) -> Said:
    """Return what a record says of a user's file of weights; one that is gone is not asked."""
    config, file = job.benchmark.config, job.weights_of(seed)
    if file is None:
        return _init(config, said) if config.init else {"init": None, "weights": None}
    of = config.base if isinstance(job, BaseJob) else config.retrain
    assert of is not None
    return {**_own_file("weights", file, of.rename, said), "params": {}}


def _init(config: BenchmarkConfig, said: Said) -> Said:
    if config.init is None:
        return {"init": None}
    return _own_file("init", config.init.weights, config.init.rename, said)


def _own_file(key: str, file: Path, rename: Mapping[str, str], said: Said) -> Said:
    """Return what a record says of one of the user's files, under a key."""
    path = file.expanduser()
    digest = content_hash(path) if path.exists() else (said.get(key) or {}).get("hash")
    return {key: {"name": file.name, "hash": digest, "rename": rename}}


def _given(job: GivenJob, name: str, said: Said) -> Said:
    seed = _seed_in(name)
    return {
        "run": job.run,
        "model": job.model,
        "code": job.code,
        "seed": seed,
        INPUTS: sorted([layout.DATA, layout.SPLIT.format(cell=job.cell.name)]),
        **_own_file("weights", job.weights_of(seed), job.given.rename, said),
    }


def _probed(job: ProbeJob) -> Said:
    split = layout.SPLIT.format(cell=job.cell.name)
    return {
        "model": job.model,
        "code": job.code,
        "seed": job.seed,
        "params": job.asked.asked(),
        "runs": job.cell.probed,
        INPUTS: sorted([layout.DATA, split, *_below(job, job.models)]),
    }


def _seed_in(name: str) -> int:
    return next(int(p.removeprefix("seed-")) for p in Path(name).parts if p.startswith("seed-"))


def _of_method(
    job: TuneJob | TeacherJob | UnlearnJob | SupportSizeJob, more: Sequence[str] = ()
) -> Said:
    split = layout.SPLIT.format(cell=job.cell.name)
    return {
        "model": job.model,
        "code": job.code,
        "seed": job.seed,
        INPUTS: sorted([layout.DATA, split, *_below(job, [job.base, *more])]),
    }


def _below(job: BenchmarkJob, files: list[str]) -> list[str]:
    return [file.removeprefix(f"{job.path(paths.BENCHMARK)}/") for file in files]


def _final_params(job: UnlearnJob | ExposeJob, said: Said, folder: Path) -> Said:
    """Return all values of a run; those that tuning chooses as its choice has them."""
    params = params_class(job.run.method.uses)
    values = {**job.run.params.model_dump(mode="json"), **_chosen(job, said, folder)}
    known = {key: value for key, value in values.items() if key in params.model_fields}
    return params.model_validate({**known, **job.run.vary}).model_dump(mode="json")


def _chosen(job: MethodJob, said: Said, folder: Path) -> Said:
    """Return what tuning chose; where its choice is not here, what was taken."""
    if not job.run.tuned_by:
        return {}
    selected = folder / _below(job, [job.path(paths.SELECTED, method=job.run.tuned_by)])[0]
    if selected.exists():
        chosen: Said = read_json(selected)["params"]
        return chosen
    grid = job.cell.runs[job.run.tuned_by].method.grid
    return {key: said[key] for key in grid if key in said}


def _teachers(job: SupportSizeJob, folder: Path) -> Said:
    """Return what teachers on supports of every size are trained with, but for what is tuned."""
    sizes, run = job.benchmark.config.support_size, job.run
    assert sizes is not None
    split = read_json(folder / layout.SPLIT.format(cell=job.cell.name))
    within = [size for size in sizes.k if size <= split["num_train"] - split["num_forget"]]
    values = prepare_values(run.method.uses, run.params)
    skipped = {*REPLACED, *run.method.grid}
    return {"k": within, **{key: value for key, value in values.items() if key not in skipped}}

"""What the record of a job would say if it ran now, as far as the plan tells."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from collateral.config.schema import BenchmarkConfig
from collateral.contract.params import TrainingParams
from collateral.contract.plugins import params_class, prepare_values
from collateral.plan import paths
from collateral.plan.evaluation import NeighboursJob, PicturesJob
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
)
from collateral.plan.probe_jobs import ProbeJob
from collateral.plan.shadow_jobs import ExposeJob, ShadowJob
from collateral.results import layout
from collateral.results.chain import INPUTS, content_hash
from collateral.results.files import read_json

Said = dict[str, Any]
LISTED = "sha256"  # in the record of a forget set from a list: the hash of the list
REPLACED = ("search", *SUPPORT)  # by teachers on supports of every size


def planned_record(job: BenchmarkJob, name: str, said: Said, folder: Path) -> Said:
    """Return what a record would say if the job ran now, as far as the plan tells."""
    match job:
        case DataJob():
            options = json.loads(job.options)
            return {"name": job.name, "options": options, "code": job.code}
        case SplitJob():
            return _split(job, said["chosen"])
        case NeighboursJob():
            return _similarities(job)
        case PicturesJob():
            return _pictures(job)
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


def _split(job: SplitJob, chosen: Said) -> Said:
    """Return what the record of a forget set repeats; a class by number has its name there."""
    params = job.cell.forget.params
    same = {key: value for key, value in params.items() if type(value) is type(chosen.get(key))}
    planned = {**chosen, "kind": job.kind, **same}
    # A list that is gone is not asked: figures come from the cache, without it.
    if LISTED in chosen and (file := Path(params.get("path", "")).expanduser()).is_file():
        planned[LISTED] = content_hash(file)
    return {"code": job.code, "chosen": planned}


def _similarities(job: NeighboursJob) -> Said:
    split = layout.SPLIT.format(cell=job.cell.name)
    inputs = sorted({layout.DATA, split, *_below(job, job.embeddings)})
    return {"seeds": [*job.benchmark.seeds], "code": job.code, INPUTS: inputs}


def _pictures(job: PicturesJob) -> Said:
    neighbours = layout.NEIGHBOURS.format(cell=job.cell.name)
    inputs = sorted({layout.DATA, neighbours, *_below(job, job.withheld)})
    return {"keep": job.keep, "code": job.code, INPUTS: inputs}


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
    pool = job.benchmark.pool
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

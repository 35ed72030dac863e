"""Preflight checks: plug-in code that cannot run, missing files, too few examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from collateral.config.errors import ConfigError
from collateral.contract.messages import looked_for
from collateral.contract.plugins import FORGET, METHOD, MODEL
from collateral.data._metadata import find_problem
from collateral.plan import paths
from collateral.plan.grid import Benchmark
from collateral.plan.jobs import list_jobs
from collateral.plan.jobs._job import CellJob
from collateral.plan.jobs._method import MethodJob
from collateral.plan.jobs.data import DataJob
from collateral.plan.jobs.split import SplitJob
from collateral.plan.plugged_code import finding_errors, method_errors, model_errors
from collateral.plan.requirements import required_of_shadows, required_retained
from collateral.plan.weights_fit import OwnFile, misfits
from collateral.plan.work import SizeUnknownError, data_options, workload_of

# The keys `classes` and `fractions`, by the parameter of a cell that is made from them.
OF_CLASSES = {"": "classes", "class": "classes", "fraction": "fractions"}


def check_plan(
    grid: Mapping[str, Benchmark], *, runs_here: bool = True, is_first: bool = True
) -> None:
    """Raise one ConfigError with all problems that would end a job.

    Packages are checked if jobs run here; weights are compared with the model by the first process
    of a run, and not again by its jobs.
    """
    messages = [f"plugins: {problem}" for problem in finding_errors()]
    for benchmark in grid.values():
        messages += [f"plugins: {problem}" for problem in _code_errors(benchmark, runs_here)]
        messages += _weights_errors(benchmark, compare=runs_here and is_first)
        messages += _data_errors(benchmark)
    for cell_job in (CellJob(b, cell) for b in grid.values() for cell in b.cells.values()):
        messages += [*_file_errors(cell_job), *_size_errors(cell_job), *_forget_errors(cell_job)]
        messages += _shadow_errors(cell_job)
    if messages:
        raise ConfigError(dict.fromkeys(messages))


def _code_errors(benchmark: Benchmark, runs_here: bool) -> Iterator[str]:
    """Yield the problems of plug-in code: of models and of methods."""
    plugged = set(filter(MODEL.is_plugged_in, MODEL.names()))
    for model in sorted(plugged.intersection(_list_model_names(benchmark) if plugged else ())):
        yield from model_errors(model, will_run=runs_here and _will_run(benchmark))
    used = {run.method.uses for cell in benchmark.cells.values() for run in cell.unlearned}
    for method in sorted(filter(METHOD.is_plugged_in, used)):
        yield from method_errors(method, will_run=runs_here and _will_run(benchmark, method))


def _will_run(benchmark: Benchmark, method: str | None = None) -> bool:
    """Tell whether a job will run that has a model; of one method alone, where it is given."""
    jobs = list_jobs(benchmark)
    if method is None:
        return any(job.will_run for job in jobs)
    of_methods = (job for job in jobs if isinstance(job, MethodJob))
    return any(job.will_run for job in of_methods if job.spec.method.uses == method)


def _list_model_names(benchmark: Benchmark) -> Iterator[str]:
    """Yield values that may be names of models: the benchmark's, and values such as a teacher."""
    yield benchmark.config.model
    runs = (run for cell in benchmark.cells.values() for run in cell.unlearned)
    for params in (params for run in runs for params in run.choices):
        yield from map(str, params.model_dump().values())


def _weights_errors(benchmark: Benchmark, *, compare: bool) -> Iterator[str]:
    """Yield the user's files of weights that jobs will read and that are missing or do not fit."""
    files = [*dict.fromkeys(_own_weights(benchmark))]
    missing = [one for one in files if not one.file.expanduser().is_file()]
    for one in missing:
        key = f"benchmarks.{benchmark.name}.{one.key}"
        yield f"{key}: {str(one.file)!r}: there is no such file{looked_for(one.file)}"
    if compare:
        yield from misfits(benchmark, [one for one in files if one not in missing])


def _own_weights(benchmark: Benchmark) -> Iterator[OwnFile]:
    """Yield the user's files of weights that jobs will read."""
    for job in list_jobs(benchmark):
        if (files := job.own_files) and job.will_run:
            yield from files


def _data_errors(benchmark: Benchmark) -> Iterator[str]:
    """Yield the problems of the user's images; results in the cache do not need the images."""
    job, options = DataJob(benchmark), data_options(benchmark)
    folder: Path | None = getattr(options, "path", None)
    is_there = folder is not None and folder.expanduser().exists()
    if not is_there and not _is_missing([job.path(paths.LABELS)]):
        return
    problem = find_problem(job.name, options) or _size_problem(benchmark, is_own=folder is not None)
    if problem:
        yield f"benchmarks.{benchmark.name}.{problem}"


def _size_problem(benchmark: Benchmark, *, is_own: bool) -> str | None:
    """Return the problem of the user's own files, or of options that depend on their shape."""
    try:
        channels = workload_of(benchmark).size.shape[-1]
    except SizeUnknownError as error:
        # Under data.name: a package that jobs may have, and a plug-in that need not tell its size.
        is_problem = str(error).startswith("data.") and not str(error).startswith("data.name: ")
        return str(error) if is_own and is_problem else None
    mean = data_options(benchmark).mean
    if mean is not None and len(mean) != channels:
        return f"data.mean: {list(mean)}: {len(mean)} numbers; expected {channels}, one a channel"
    return None


def _is_missing(files: Iterable[str]) -> bool:
    """Tell whether one of these files is missing."""
    return not all(Path(file).exists() for file in files)


def _file_errors(job: CellJob) -> Iterator[str]:
    try:
        _ = SplitJob(job.benchmark, job.cell).user_files
    except ConfigError as error:
        yield from str(error).split("\n")


def _size_errors(job: CellJob) -> Iterator[str]:
    """Yield the parameters that require more examples than a cell retains."""
    try:
        retained = workload_of(job.benchmark).sizes(job.cell).retain
    except SizeUnknownError:
        return  # the job that reads the data checks it instead
    for key, count in required_retained(job.benchmark, job.cell).items():
        if count > retained:
            yield f"{key}: {count}: only {retained} examples are retained in {job.cell.name}"
    if retained <= 0:
        found = workload_of(job.benchmark).size.num_train
        yield f"{_forget_key(job)}: all {found} train examples, none is retained"


def _forget_errors(job: CellJob) -> Iterator[str]:
    """Yield the classes or values of a forget set that the data set does not have."""
    kind: Any = FORGET.load(job.cell.forget.kind)
    if not hasattr(kind, "unfit") or not _is_missing([job.path(paths.SPLIT)]):
        return
    try:
        size = workload_of(job.benchmark).size
    except SizeUnknownError:
        return  # reported by the check of the data, or by the job that reads it
    params = kind.Params.model_validate(dict(job.cell.forget.params))
    for key, problem in kind.unfit(size, params):
        yield f"{_forget_key(job, key)}: {problem}"


def _forget_key(job: CellJob, key: str = "") -> str:
    """Return the config's key of a forget set: in a cell, or in classes x fractions."""
    benchmark = f"benchmarks.{job.benchmark.name}"
    if job.cell.name not in job.benchmark.config.cells:
        return f"{benchmark}.{OF_CLASSES[key]}"
    return ".".join(filter(None, (benchmark, "cells", job.cell.name, "forget", key)))


def _shadow_errors(job: CellJob) -> Iterator[str]:
    """Yield the parameters that require more examples than a shadow model may retain."""
    if not job.cell.exposed:
        return
    try:
        retained = workload_of(job.benchmark).least_retained(job.cell)
    except SizeUnknownError:
        return
    for key, count in required_of_shadows(job.benchmark, job.cell).items():
        if count > retained:
            yield (
                f"{key}: {count}: a shadow model may retain only {retained} examples in "
                f"{job.cell.name}; ask for fewer, or leave `shadows` out"
            )

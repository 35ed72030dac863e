"""What the plan can tell before any job: code that cannot run, files and examples that lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from collateral.config.errors import ConfigError
from collateral.contract.plugins import FORGET, METHOD, MODEL
from collateral.contract.spelling import looked_for
from collateral.data._facts import problem_of
from collateral.plan import paths
from collateral.plan.asked import asked_of_retained, asked_of_shadows
from collateral.plan.evaluation import EvaluationJob
from collateral.plan.grid import Benchmark, Cell
from collateral.plan.jobs import BaseJob, CellJob, DataJob, GivenJob, RetrainJob, SplitJob
from collateral.plan.plugged_code import finding_errors, method_errors, model_errors
from collateral.plan.weights_fit import OwnFile, misfits
from collateral.plan.workload import SizeUnknownError, data_options, workload_of

# What `classes` and `fractions` are called in a cell of theirs.
OF_CLASSES = {"": "classes", "class": "classes", "fraction": "fractions"}


def check_plan(
    grid: Mapping[str, Benchmark], *, runs_here: bool = True, is_first: bool = True
) -> None:
    """Raise one ConfigError with all that would end a job.

    Packages count where jobs run here; weights are compared with the model by the first process of
    a run, and not by its jobs once more.
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
    """Yield what is wrong with plugged-in code: of the models, and of every method."""
    plugged = set(filter(MODEL.is_plugged_in, MODEL.names()))
    for model in sorted(plugged.intersection(_named(benchmark) if plugged else ())):
        yield from model_errors(model, will_run=runs_here and _lacks(_model_outputs(benchmark)))
    used = {run.method.uses for cell in benchmark.cells.values() for run in cell.unlearned}
    for method in sorted(filter(METHOD.is_plugged_in, used)):
        will_run = runs_here and _lacks(_run_outputs(benchmark, method))
        yield from method_errors(method, will_run=will_run)


def _named(benchmark: Benchmark) -> Iterator[str]:
    """Yield what may be the name of a model: the benchmark's, and values such as a teacher's."""
    yield benchmark.config.model
    runs = (run for cell in benchmark.cells.values() for run in cell.unlearned)
    for params in (params for run in runs for params in run.choices):
        yield from map(str, params.model_dump().values())


def _base_outputs(benchmark: Benchmark) -> Iterator[str]:
    pattern = paths.run_files(paths.BASE)["outputs"]
    for seed in benchmark.base_seeds():
        yield BaseJob(benchmark).path(pattern, seed=seed)


def _model_outputs(benchmark: Benchmark) -> Iterator[str]:
    """Yield what jobs make that build a model."""
    yield from _base_outputs(benchmark)
    for cell in benchmark.cells.values():
        job = EvaluationJob(benchmark, cell)
        yield from (*job.outputs, *job.probes, *job.exposures)


def _run_outputs(benchmark: Benchmark, method: str) -> Iterator[str]:
    pattern = paths.run_files(paths.RUN)["outputs"]
    for cell in benchmark.cells.values():
        job = CellJob(benchmark, cell)
        for run in (run for run in cell.unlearned if run.method.uses == method):
            yield from (job.path(pattern, seed=s, run=run.name) for s in benchmark.seeds)
        for run in (run for run in cell.exposed if run.method.uses == method):
            yield job.path(paths.EXPOSED, run=run.name)


def _weights_errors(benchmark: Benchmark, *, compare: bool) -> Iterator[str]:
    """Yield the user's files of weights that are not there or do not fit, where jobs will read."""
    files = [*dict.fromkeys(_own_weights(benchmark))]
    missing = [one for one in files if not one.file.expanduser().is_file()]
    for one in missing:
        key = f"benchmarks.{benchmark.name}.{one.key}"
        yield f"{key}: {str(one.file)!r}: there is no such file{looked_for(one.file)}"
    if compare:
        yield from misfits(benchmark, [one for one in files if one not in missing])


def _own_weights(benchmark: Benchmark) -> Iterator[OwnFile]:
    """Yield the user's files of weights, as far as what they make is not there."""
    base, init, retrain = benchmark.config.base, benchmark.config.init, benchmark.config.retrain
    lacks_trained = _lacks([*_base_outputs(benchmark), *_retrain_outputs(benchmark)])
    for seed in benchmark.base_seeds() if lacks_trained else ():
        if file := BaseJob(benchmark).weights_of(seed):
            yield OwnFile("base.weights", file, base.rename)
    if init and (lacks_trained or _lacks_pool(benchmark)):
        yield OwnFile("init.weights", init.weights, init.rename)
    if retrain and retrain.weights and _lacks(_retrain_outputs(benchmark)):
        for job in (RetrainJob(benchmark, cell) for cell in benchmark.cells.values()):
            files = filter(None, map(job.weights_of, benchmark.seeds))
            yield from (OwnFile("retrain.weights", file, retrain.rename) for file in files)
    for cell in benchmark.cells.values():
        yield from _given_weights(benchmark, cell)


def _given_weights(benchmark: Benchmark, cell: Cell) -> Iterator[OwnFile]:
    outputs, seeds = paths.run_files(paths.RUN)["outputs"], benchmark.seeds
    for name, given in cell.given.items():
        job = GivenJob(benchmark, cell, name)
        if _lacks(job.path(outputs, seed=seed, run=name) for seed in seeds):
            for file in map(job.weights_of, seeds):
                yield OwnFile(f"given.{name}.weights", file, given.rename)


def _data_errors(benchmark: Benchmark) -> Iterator[str]:
    """Yield what is wrong with the user's images; from the cache, figures come without them."""
    job, options = DataJob(benchmark), data_options(benchmark)
    folder: Path | None = getattr(options, "path", None)
    is_there = folder is not None and folder.expanduser().exists()
    if not is_there and not _lacks([job.path(paths.LABELS)]):
        return
    problem = problem_of(job.name, options) or _size_problem(benchmark, is_own=folder is not None)
    if problem:
        yield f"benchmarks.{benchmark.name}.{problem}"


def _size_problem(benchmark: Benchmark, *, is_own: bool) -> str | None:
    """Return what is wrong with the user's own files, or with what goes by their shape."""
    try:
        channels = workload_of(benchmark).size.shape[-1]
    except SizeUnknownError as error:
        # Under data.name: a package that jobs may have, and a plug-in that need not tell its size.
        is_said = str(error).startswith("data.") and not str(error).startswith("data.name: ")
        return str(error) if is_own and is_said else None
    mean = data_options(benchmark).mean
    if mean is not None and len(mean) != channels:
        return f"data.mean: {list(mean)}: {len(mean)} numbers; expected {channels}, one a channel"
    return None


def _retrain_outputs(benchmark: Benchmark) -> Iterator[str]:
    pattern = paths.run_files(paths.RETRAIN)["outputs"]
    for cell in benchmark.cells.values() if benchmark.config.retrain is not None else ():
        job = CellJob(benchmark, cell)
        yield from (job.path(pattern, seed=seed) for seed in benchmark.seeds)


def _lacks_pool(benchmark: Benchmark) -> bool:
    """Tell whether shadow models will be trained."""
    jobs = [EvaluationJob(benchmark, cell) for cell in benchmark.cells.values()]
    if not _lacks(path for job in jobs for path in job.exposures):
        return False
    margins, count = paths.shadow_files(paths.SHADOW)["margins"], benchmark.pool.count
    return _lacks(BaseJob(benchmark).path(margins, member=member) for member in range(count))


def _lacks(files: Iterable[str]) -> bool:
    """Tell whether one of them is not there."""
    return not all(Path(file).exists() for file in files)


def _file_errors(job: CellJob) -> Iterator[str]:
    try:
        _ = SplitJob(job.benchmark, job.cell).files
    except ConfigError as error:
        yield from str(error).split("\n")


def _size_errors(job: CellJob) -> Iterator[str]:
    """Yield the parameters that ask for more examples than a cell retains."""
    try:
        retained = workload_of(job.benchmark).sizes(job.cell).retain
    except SizeUnknownError:
        return  # the job that reads the data is told instead
    for key, count in asked_of_retained(job.benchmark, job.cell).items():
        if count > retained:
            yield f"{key}: {count}: only {retained} examples are retained in {job.cell.name}"
    if retained <= 0:
        found = workload_of(job.benchmark).size.num_train
        yield f"{_forget_key(job)}: all {found} train examples, none is retained"


def _forget_errors(job: CellJob) -> Iterator[str]:
    """Yield what a forget set names that the data set has not."""
    kind: Any = FORGET.load(job.cell.forget.kind)
    if not hasattr(kind, "unfit") or not _lacks([job.path(paths.SPLIT)]):
        return
    try:
        size = workload_of(job.benchmark).size
    except SizeUnknownError:
        return  # said of the data, or by the job that reads it
    params = kind.Params.model_validate(dict(job.cell.forget.params))
    for key, problem in kind.unfit(size, params):
        yield f"{_forget_key(job, key)}: {problem}"


def _forget_key(job: CellJob, key: str = "") -> str:
    """Return where the config says what is forgotten: in a cell, or in classes x fractions."""
    benchmark = f"benchmarks.{job.benchmark.name}"
    if job.cell.name not in job.benchmark.config.cells:
        return f"{benchmark}.{OF_CLASSES[key]}"
    return ".".join(filter(None, (benchmark, "cells", job.cell.name, "forget", key)))


def _shadow_errors(job: CellJob) -> Iterator[str]:
    """Yield the parameters that ask for more examples than a shadow model may retain."""
    if not job.cell.exposed:
        return
    try:
        retained = workload_of(job.benchmark).least_retained(job.cell)
    except SizeUnknownError:
        return
    for key, count in asked_of_shadows(job.benchmark, job.cell).items():
        if count > retained:
            yield (
                f"{key}: {count}: a shadow model may retain only {retained} examples in "
                f"{job.cell.name}; ask for fewer, or leave `shadows` out"
            )

"""Checks before any job: plug-in code that cannot run, missing files, too few examples."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from collateral.config.errors import ConfigError, format_key
from collateral.contract.conventions import class_index
from collateral.contract.messages import looked_for, quoted, unknown_name
from collateral.data._metadata import find_forget_error, find_problem
from collateral.jobs import list_jobs
from collateral.jobs._job import OwnFile, Planned
from collateral.jobs._method import PlannedMethod
from collateral.jobs._weights import PlannedWeights
from collateral.jobs.data import PlannedData, required_by_runs, required_retained
from collateral.jobs.split import PlannedSplit
from collateral.plan import paths
from collateral.plan.diff import record_differences
from collateral.plan.fingerprint import fingerprint
from collateral.plan.grid import Benchmark
from collateral.plan.work import SizeUnknownError, data_options, find_workload
from collateral.plugins.check import code_errors, find_file, finding_errors
from collateral.plugins.find import FORGET, METHOD, MODEL

PRECISION = (
    "import sys; from collateral.training.optimizers import print_wrong_precisions; "
    "print_wrong_precisions(sys.argv[1:])"
)
COMMAND = "from collateral.cli import main; main()"
MOST_GROUPS = 50  # maximum number of different values in a column that `groups` names
NO_COLUMNS = "no column is beside this data set's images and labels"
# Config key of each parameter of a forget set that is made from `classes` and `fractions`.
OF_CLASSES = {"": "classes", "class": "classes", "fraction": "fractions"}


def check_plan(
    grid: Mapping[str, Benchmark],
    *,
    runs_here: bool = True,
    is_first: bool = True,
    on_this_machine: bool = False,
) -> None:
    """Raise one ConfigError with all problems that would make a job fail.

    Packages are checked if jobs run here; weights are compared with the model, and columns with
    the data, by the first process of a run, and not again by its jobs. The precision of training
    is checked if jobs run `on_this_machine` and not on the nodes of a cluster.
    """
    messages = [f"plugins: {problem}" for problem in finding_errors()]
    for benchmark in grid.values():
        messages += [f"plugins: {problem}" for problem in _code_errors(benchmark, runs_here)]
        jobs = [job for job in list_jobs(benchmark) if job.will_run]
        messages += find_weights_errors(benchmark, jobs, compare=runs_here and is_first)
        messages += _precision_errors(benchmark) if is_first and on_this_machine else []
        messages += _data_errors(benchmark)
        messages += [*_group_errors(benchmark), *_positive_errors(benchmark)] if is_first else []
        for job in PlannedSplit.list_all(benchmark):
            messages += [*_file_errors(job), *_size_errors(job), *_forget_errors(job)]
    if messages:
        raise ConfigError(dict.fromkeys(messages))


def _code_errors(benchmark: Benchmark, runs_here: bool) -> Iterator[str]:
    """Yield the problems in the code of plugged-in models and methods.

    Packages that are not installed are a problem only if jobs with the model, or jobs of the
    method, will run here.
    """
    runs = [run for cell in benchmark.cells.values() for run in cell.unlearned.values()]
    models = {name for name in MODEL.names() if MODEL.is_plugged_in(name)}
    if models:  # A parameter of a method, such as `teacher`, may name a model.
        params = [one for run in runs for choice in run.choices for one in choice.with_parts()]
        values = {str(value) for one in params for value in one.model_dump().values()}
        models &= {benchmark.config.model, *values}
    for model in sorted(models):
        will_run = runs_here and any(job.will_run for job in list_jobs(benchmark))
        yield from _plugged_errors(MODEL.module(model), "build", will_run=will_run)
    methods = {name for run in runs for name in run.methods}
    for method in sorted(filter(METHOD.is_plugged_in, methods)):
        of_methods = [job for job in list_jobs(benchmark) if isinstance(job, PlannedMethod)]
        own_jobs = [job for job in of_methods if method in job.spec.methods]
        will_run = runs_here and any(job.will_run for job in own_jobs)
        yield from _plugged_errors(METHOD.module(method, "method"), "unlearn", will_run=will_run)


def _plugged_errors(module: str, function: str, *, will_run: bool) -> list[str]:
    """Return the problems of a plug-in's code, or why its fingerprint cannot be computed."""
    found = [*code_errors(module, function, will_run=will_run)]
    return found or [f"'{find_file(module)}': {error}" for error in _errors(fingerprint, [module])]


def _errors(function: Callable[[Any], object], argument: object) -> list[str]:
    """Call a function; return a list with the text of its error, empty if it raises no error."""
    try:
        function(argument)
    except (ModuleNotFoundError, ValueError) as error:
        return [str(error)]
    return []


def find_weights_errors(
    benchmark: Benchmark, jobs: Iterable[Planned], *, compare: bool = True
) -> Iterator[str]:
    """Yield an error for each weight file of the user that is missing or does not fit the model."""
    found = (job.own_file for job in jobs if job.own_file)
    files = [*{(own.key, path): (own, path) for own, path in found}.values()]
    missing = [one for one in files if not one[1].expanduser().is_file()]
    for own, path in missing:
        key = f"benchmarks.{benchmark.name}.{own.key}"
        yield f"{key}: {str(path)!r}: there is no such file{looked_for(path)}"
    if compare:
        yield from _misfits(benchmark, [one for one in files if one not in missing])


def _misfits(benchmark: Benchmark, files: Sequence[tuple[OwnFile, Path]]) -> Iterator[str]:
    """Yield an error for each weight file that does not fit the model, and for a wrong `freeze`.

    Another process compares names and shapes, because the Snakefile does not import torch. Nothing
    is compared if torch is not installed.
    """
    freeze = benchmark.config.freeze
    if not (files or freeze) or find_spec("torch") is None:
        return
    try:
        size = find_workload(benchmark).size
    except SizeUnknownError:
        return
    folders = [str(Path(path).parent) for path in MODEL.paths[1:]]
    options = ["--model", benchmark.config.model, "--num-classes", str(size.num_classes)]
    options += ["--shape", *map(str, size.shape), "--plugins", *folders]
    options += ["--freeze", *freeze] if freeze else []
    compared = [[own.key, str(path.expanduser()), own.rename] for own, path in files]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "weights", *options],
        input=json.dumps(compared),
        capture_output=True,
        text=True,
        check=False,
    )
    yield from (f"benchmarks.{benchmark.name}.{line}" for line in done.stdout.splitlines())


def _precision_errors(benchmark: Benchmark) -> Iterator[str]:
    """Yield an error for each precision in which this machine does not train.

    Another process finds it out, because the Snakefile does not import torch.
    """
    jobs = [job for job in list_jobs(benchmark) if job.will_run]
    trained = [job for job in jobs if isinstance(job, PlannedWeights) and not job.own]
    found: dict[str, str] = {"base": benchmark.config.base.precision} if trained else {}
    for job in jobs:
        if isinstance(job, PlannedMethod):
            for params in (one for given in job.spec.choices for one in given.with_parts()):
                precision = getattr(params, "precision", "float32")
                if precision != "float32":
                    found[f"methods.{job.spec.method.name}"] = precision
    found = {key: precision for key, precision in found.items() if precision != "float32"}
    if not found or find_spec("torch") is None:
        return
    command = [sys.executable, "-c", PRECISION, *found.values()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    for key, problem in zip(found, done.stdout.splitlines(), strict=False):
        if problem:
            yield f"benchmarks.{benchmark.name}.{key}.{problem}"


def _data_errors(benchmark: Benchmark) -> Iterator[str]:
    """Yield a problem with the data set; deleted images are no problem after a job read them."""
    job, options = PlannedData(benchmark), data_options(benchmark)
    folder: Path | None = getattr(options, "path", None)
    is_there = folder is not None and folder.expanduser().exists()
    if not is_there and Path(job.path(paths.LABELS)).exists():
        return
    problem = find_problem(job.name, options) or _size_problem(benchmark, is_own=folder is not None)
    if problem:
        yield f"benchmarks.{benchmark.name}.{problem}"


def _size_problem(benchmark: Benchmark, *, is_own: bool) -> str | None:
    """Return a problem with the user's files or the length of `data.mean`; None if all is valid."""
    try:
        channels = find_workload(benchmark).size.shape[-1]
    except SizeUnknownError as error:
        # No error for a missing package (jobs may have it), or for a plug-in without `size`.
        is_problem = str(error).startswith("data.") and not str(error).startswith("data.name: ")
        return str(error) if is_own and is_problem else None
    mean = data_options(benchmark).mean
    if mean is not None and len(mean) != channels:
        return f"data.mean: {list(mean)}: {len(mean)} numbers; expected {channels}, one a channel"
    return None


def _group_errors(benchmark: Benchmark) -> Iterator[str]:
    """Yield an error for each column in `groups` that does not exist or has too many values."""
    if not benchmark.config.groups:
        return
    try:
        columns = _read_stored_columns(benchmark) or _read_columns(benchmark)
    except ValueError:
        # The check of the data, or the job that reads the data, reports this error; the metrics
        # report a wrong name if the data set of a plug-in has no function `columns`.
        return
    for index, name in enumerate(benchmark.config.groups):
        key = f"benchmarks.{benchmark.name}.groups[{index}]"
        if name not in columns:
            known = unknown_name("column", name, columns) if columns else NO_COLUMNS
            yield f"{key}: {known}"
        elif (count := len({*columns[name]})) > MOST_GROUPS:
            yield f"{key}: {quoted(name)} has {count} values; expected at most {MOST_GROUPS} groups"
        elif count == 1:
            value = quoted(columns[name][0])
            yield f"{key}: without effect: all examples have {value} there; leave it out"


def _positive_errors(benchmark: Benchmark) -> Iterator[str]:
    """Yield an error if the user's data have no class `positive`, or two readings of its number."""
    if (positive := benchmark.config.positive) is None:
        return
    try:
        names = find_workload(benchmark).size.class_names
    except SizeUnknownError:
        return  # the check of the data, or the job that reads the data, reports this error
    for problem in _errors(partial(class_index, names=names), positive):
        yield f"benchmarks.{benchmark.name}.positive: {problem}"


def _read_stored_columns(benchmark: Benchmark) -> dict[str, list[Any]]:
    """Return the metadata columns in labels.npz by name; empty without a current file."""
    job = PlannedData(benchmark)
    path = Path(job.path(paths.LABELS))
    if not path.exists() or record_differences(job, path.parent):
        return {}
    # Imported only if needed, because numpy takes long to import, and few configs have `groups`.
    labels = import_module("collateral.results.dataset").Labels.load(path)
    return _join(labels.columns, labels.test_columns)


def _read_columns(benchmark: Benchmark) -> dict[str, list[Any]]:
    """Return the metadata columns of the train and test set, read from the user's files."""
    size = find_workload(benchmark).size
    return _join(size.columns(), size.test_columns())


def _join(*parts: Mapping[str, Iterable[Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for columns in parts:
        for name, values in columns.items():
            found.setdefault(name, []).extend(values)
    return found


def _file_errors(job: PlannedSplit) -> Iterator[str]:
    """Yield an error if the user's list of examples to forget is missing and still needed."""
    path = job.cell.forget.params.get("path")
    if path is not None and not job.user_files and not Path(job.split).exists():
        text = f"{str(path)!r}: there is no such file{looked_for(Path(path).expanduser())}"
        yield f"{_forget_key(job, 'path')}: {text}"


def _size_errors(job: PlannedSplit) -> Iterator[str]:
    """Yield an error for each parameter that requires more retained examples than there are."""
    benchmark, cell, workload = job.benchmark, job.cell, find_workload(job.benchmark)
    try:
        retained = workload.sizes(cell).retain
    except SizeUnknownError:
        return  # the job that reads the data will check the sizes instead
    for key, count in required_retained(benchmark, cell).items():
        if count > retained:
            yield f"{key}: {count}: only {retained} examples are retained in {cell.name}"
    if retained <= 0:
        found = workload.size.num_train
        yield f"{_forget_key(job)}: all {found} train examples, none is retained"
    for key, count in required_by_runs(benchmark, cell, cell.exposed.values()).items():
        if count > (least := workload.least_retained(cell)):
            yield (
                f"{key}: {count}: a shadow model may retain only {least} examples in "
                f"{cell.name}; ask for fewer, or leave `shadows` out"
            )


def _forget_errors(job: PlannedSplit) -> Iterator[str]:
    """Yield an error if a forget set names a class or value that the data set does not have."""
    kind: Any = FORGET.load(job.cell.forget.kind)
    # The split file may be of another class, because the classes 0 and "0" give one file name.
    if Path(job.path(paths.SPLIT)).exists() and not hasattr(kind, "find_classes"):
        return
    try:
        size = find_workload(job.benchmark).size
    except SizeUnknownError:
        return  # the check of the data, or the job that reads the data, reports this error
    params = kind.Params.model_validate(dict(job.cell.forget.params))
    if found := find_forget_error(kind, size, params):
        yield f"{_forget_key(job, found[0])}: {found[1]}"


def _forget_key(job: PlannedSplit, key: str = "") -> str:
    """Return the config key that defines a forget set: under `cells`, `classes` or `fractions`."""
    place = job.cell.forget.place
    by_place = (*place, *filter(None, [key])) if place else (OF_CLASSES.get(key, key),)
    keys = ("atlas",) if job.cell.forget.atlas else by_place
    return format_key(("benchmarks", job.benchmark.name, *keys))

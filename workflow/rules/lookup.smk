"""From wildcards to what the rules need: the grid's entries, inputs, values and fingerprints."""

import inspect
import hashlib
import json
import os
import shlex
from functools import cache

from collateral.contract.plugins import is_own
from collateral.contract.plugins import module_of as method_module
from collateral.config.methods import prepare_values
from collateral.plan.fingerprint import fingerprint
from collateral.models._names import NAMES as MODEL_MODULES


def as_json(value):
    return json.dumps(value, sort_keys=True)


def remember_signatures(functions):
    for function in filter(inspect.isfunction, functions):
        function.__signature__ = inspect.signature(function)


# The grid by wildcards.


def benchmark_of(w):
    return GRID[w.benchmark]


def cell_of(w):
    return benchmark_of(w).cells[w.cell]


def run_of(w):
    return cell_of(w).runs[w.run]


def data_options(w):
    data = benchmark_of(w).config.data
    return as_json({key: value for key, value in data.items() if key != "name"})


def training_params(w):
    return benchmark_of(w).config.base.model_dump_json(exclude={"sharing"})


def run_labels(w):
    # Not sorted: rows of tables and colours of figures follow the config's order.
    return json.dumps(benchmark_of(w).labels())


def sweeps_of(w):
    # Not sorted either.
    return json.dumps(benchmark_of(w).sweeps())


def report_sources():
    """Return what the page is made of, by benchmark."""
    sources = {
        name: {
            "folder": paths.BENCHMARK.format(benchmark=name),
            "runs": benchmark.labels(),
            "sweeps": benchmark.sweeps(),
            "protocol": benchmark.config.base.sharing,
        }
        for name, benchmark in GRID.items()
    }
    return json.dumps(sources)


# What tells a stage its method: one text a job, since Snakemake looks at each value many times.


@cache
def run_options(benchmark, cell, name):
    """Return the options of a run: its method, and its values as far as the config has them."""
    run = GRID[benchmark].cells[cell].runs[name]
    track = ["--track"] if run.tracked else []
    return shlex.join(["--run", name, *method_options(run), "--vary", as_json(run.vary), *track])


def tune_options(w):
    """Return the options of a tuning: the method, its values and its trials."""
    run = cell_of(w).runs[w.method]
    trials, default = as_json(run.method.trials()), as_json(run.method.default_trial())
    return shlex.join([*method_options(run), "--trials", trials, "--default", default])


def method_options(run):
    """Return a method and its values; for a plug-in, also the folders that plug-ins are in."""
    uses = run.method.uses
    plugins = [] if is_own(uses) else ["--plugins", *map(str, CONFIG.plugins)]
    return ["--method", uses, "--params", run.params.model_dump_json(), *plugins]


# The fingerprint of a stage's code.


@cache
def code_of(stage, *modules):
    """Return the fingerprint of a stage and of the modules that it will look up by name."""
    return fingerprint([f"collateral.stages.{stage}", *modules])


def model_module(w):
    return MODEL_MODULES[benchmark_of(w).config.model]


def method_code(stage, w, run):
    """Return the fingerprint of a method's stage: its code, and the models it builds by name."""
    models = {MODEL_MODULES[name] for name in run.words if name in MODEL_MODULES}
    method = method_module(run.method.uses, "method")
    return code_of(stage, method, model_module(w), *sorted(models))


# Input files.


def own_files(w):
    """Return the user's own files of a data set; one that is missing is the data job's to name."""
    data = benchmark_of(w).config.data
    files = [os.path.expanduser(data[key]) for key in ("path", "test_path") if key in data]
    return [file for file in files if os.path.exists(file)]


def forget_files(w):
    """Return the user's own file of a forget set; one that is missing is named before any job."""
    path = cell_of(w).forget.params.get("path")
    if path is None:
        return []
    file = os.path.expanduser(path)
    if os.path.exists(file):
        return [file]
    if not os.path.exists(paths.SPLIT.format(benchmark=w.benchmark, cell=w.cell)):
        key = f"benchmarks.{w.benchmark}.cells.{w.cell}.forget.path"
        raise WorkflowError(f"{key}: '{path}': there is no such file")
    return []  # figures come from the cache, without it


def base_folder(w):
    """Return the folder of the base model; tuning starts from the first seed's."""
    benchmark = benchmark_of(w)
    seed = int(getattr(w, "seed", benchmark.seeds[0]))
    return paths.BASE.format(benchmark=w.benchmark, seed=benchmark.base_seed(seed))


def base_weights(w):
    return f"{base_folder(w)}/{paths.MODEL}"


def base_embeddings(w):
    """Return the embeddings that the runs of each seed start from."""
    benchmark = benchmark_of(w)
    seeds = [benchmark.base_seed(seed) for seed in benchmark.seeds]
    pattern = f"{paths.BASE}/{paths.EMBEDDINGS}"
    return [pattern.format(benchmark=w.benchmark, seed=seed) for seed in seeds]


def tune_sources(w):
    """Return the folders of tunings before this one that prepare what it may need."""
    names = cell_of(w).preparing_tunings(cell_of(w).runs[w.method])
    return tune_folders(w, [name for name in names if name != w.method])


def run_sources(w):
    """Return the folders of jobs that prepare what a run may need: a tuning, or another run."""
    cell, run = cell_of(w), run_of(w)
    if int(w.seed) == benchmark_of(w).seeds[0] and (names := cell.preparing_tunings(run)):
        return tune_folders(w, names)
    name = cell.preparing_run(run)
    return [paths.RUN.format(**{**w, "run": name})] if name else []


def tune_folders(w, names):
    return [paths.TUNE.format(benchmark=w.benchmark, cell=w.cell, method=name) for name in names]


def costs_in(folders):
    """Return the files that say that a job is done and has kept what it prepared."""
    # Ancient: whatever changes what is prepared changes the inputs or values of all who need it.
    return [ancient(f"{folder}/{paths.COST}") for folder in folders]


def prepared_in(folders):
    return [f"{folder}/{paths.PREPARED}" for folder in folders]


def selected_of(w):
    """Return the tuning's choice that a run waits for, or nothing."""
    tuned_by = run_of(w).tuned_by
    pattern = f"{paths.TUNE}/{paths.SELECTED}"
    return [pattern.format(benchmark=w.benchmark, cell=w.cell, method=tuned_by)] if tuned_by else []


def retrained_of(w):
    """Return Retrain's outputs for a control that needs them; for a method, nothing."""
    return [f"{paths.RETRAIN}/{paths.OUTPUTS}".format(**w)] if run_of(w).needs_retrain else []


def cell_results(w):
    """Return the outputs of all runs of a cell; they stand for all files that a job writes."""
    # A third of the files: looking for the job behind each is what makes a large plan slow.
    runs = ["retrain", *cell_of(w).runs]
    place = {"benchmark": w.benchmark, "cell": w.cell, "seed": benchmark_of(w).seeds}
    return expand(f"{paths.RUN}/{paths.OUTPUTS}", **place, run=runs)


def cell_choices(w):
    """Return the trials of every tuned method of a cell."""
    pattern = f"{paths.TUNE}/{paths.TRIALS}"
    return expand(pattern, benchmark=w.benchmark, cell=w.cell, method=cell_of(w).tuned)


def diagnosed_values(w):
    """Return what LTD's teachers are trained with, whatever k the runs have."""
    run = cell_of(w).diagnosed
    values = prepare_values(run.method.uses, run.params)
    return as_json({k: v for k, v in values.items() if k not in ("k", "k_each", "min_similarity")})


def diagnosed_selected(w):
    """Return the tuning's choice where it decides how the teacher is trained, or nothing."""
    run = cell_of(w).diagnosed
    pattern = f"{paths.TUNE}/{paths.SELECTED}"
    is_open = len(run.candidates) > 1
    return (
        [pattern.format(benchmark=w.benchmark, cell=w.cell, method=run.tuned_by)] if is_open else []
    )


def cell_diagnoses(w):
    """Return what the teachers of every support size say, where the config asks for them."""
    if not cell_of(w).diagnosed:
        return []
    names = [paths.DIAGNOSIS, paths.COST]
    seeds = benchmark_of(w).seeds
    pattern = f"{paths.DIAGNOSE}/{{name}}"
    return expand(pattern, benchmark=w.benchmark, cell=w.cell, seed=seeds, name=names)


def templates_hash():
    """Return a hash of the page's templates: a fingerprint knows Python alone."""
    folder = os.path.join(workflow.basedir, "workflow/collateral/report")
    digest = hashlib.sha256()
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".j2")):
        with open(os.path.join(folder, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:16]


def of_cells(pattern):
    """Return an input function: one file of each cell of the benchmark."""
    return lambda w: expand(pattern, benchmark=w.benchmark, cell=benchmark_of(w).cells)

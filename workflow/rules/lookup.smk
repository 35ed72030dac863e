"""From wildcards to jobs; what each of them needs and is told, the plan knows."""

import shlex

from collateral.plan.evaluation import EvaluationJob, NeighboursJob, PicturesJob
from collateral.plan.jobs import BaseJob, DataJob, GivenJob, RetrainJob, SplitJob
from collateral.plan.method_jobs import UnlearnJob, support_size_job, teacher_job, tune_job
from collateral.plan.probe_jobs import ProbeJob
from collateral.plan.shadow_jobs import ShadowJob, expose_job


wildcard_constraints:
    benchmark="|".join(GRID),
    cell="[a-z0-9_.-]+",
    seed=r"\d+",
    member=r"\d+",
    run=r"(?!(retrain|original)/)[a-z0-9_.@=-]+",
    method="[a-z0-9_.-]+",


def benchmark_of(w):
    return GRID[w.benchmark]


def cell_of(w):
    return GRID[w.benchmark].cells[w.cell]


def data_job(w):
    return DataJob(benchmark_of(w))


def base_job(w):
    return BaseJob(benchmark_of(w))


def split_job(w):
    return SplitJob(benchmark_of(w), cell_of(w))


def retrain_job(w):
    return RetrainJob(benchmark_of(w), cell_of(w))


def tuning(w):
    return tune_job(benchmark_of(w), cell_of(w), w.method)


def teaching(w):
    return teacher_job(benchmark_of(w), cell_of(w))


def unlearning(w):
    return UnlearnJob(benchmark_of(w), cell_of(w), cell_of(w).runs[w.run], int(w.seed))


def given_job(w):
    return GivenJob(benchmark_of(w), cell_of(w), w.run)


def support_sizing(w):
    return support_size_job(benchmark_of(w), cell_of(w), int(w.seed))


def probing(w):
    return ProbeJob(benchmark_of(w), cell_of(w), int(w.seed))


def shadowing(w):
    return ShadowJob(benchmark_of(w), int(w.member))


def exposing(w):
    return expose_job(benchmark_of(w), cell_of(w), w.run)


def neighbours_job(w):
    return NeighboursJob(benchmark_of(w), cell_of(w))


def pictures_job(w):
    return PicturesJob(benchmark_of(w), cell_of(w))


def evaluation(w):
    return EvaluationJob(benchmark_of(w), cell_of(w))


def plugins(wildcards, output):
    """Return an option for every stage that looks something up by name."""
    # Of `output`, so that one more folder reruns nothing: what is used of it is in `code`.
    return shlex.join(["--plugins", *map(str, CONFIG.plugins)]) if CONFIG.plugins else ""


def costs_in(folders):
    """Return the files that say that a job is done and has kept what it prepared."""
    # Not ancient: after a job that reruns, Snakemake (9.27) looks at no value of those that wait
    # for it, and those that wait for something ancient would keep what is stale.
    return [paths.cost(folder) for folder in folders]


def prepared_in(folders):
    return [paths.prepared(folder) for folder in folders]


def of_cells(pattern):
    """Return an input function: one file of each cell of the benchmark."""
    return lambda w: expand(pattern, benchmark=w.benchmark, cell=benchmark_of(w).cells)

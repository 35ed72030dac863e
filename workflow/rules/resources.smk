"""Local rules, priorities, and the memory and time limits of training jobs."""

from collateral.plan import estimate
from collateral.plan.paths import home, set_install_variables
from collateral.plan.run_hooks import has_gpu, slots_per_gpu

set_install_variables(home())


# Local jobs take seconds to minutes and need no GPU; the job of `data` may need the internet.
localrules:
    all,
    paper,
    data,
    split,
    neighbours,
    pictures,
    metrics,
    theory,
    plan,
    gather,
    tables,
    figures,
    report,
    index,
    check,


# Number of slots of a GPU; jobs of base, retrain, shadow and expose take one slot, others all.
try:
    WHOLE_GPU = slots_per_gpu(workflow)
except ValueError as error:
    raise WorkflowError(str(error))

# Number of cells per process that makes tables or figures; fewer cells have one process.
CELLS_PER_THREAD = 5

# Priorities are 1 or more: `theory` has 0, and Snakemake starts no job of a negative priority.
PRIORITIES = {name: len(GRID) - place for place, name in enumerate(GRID)}


def page_by_page(wildcards):
    """Return a job's priority; benchmarks that come earlier in the config are finished first."""
    return PRIORITIES[wildcards.benchmark]


def files_first(kind):
    """Return a priority function; jobs that read the user's weights come before training jobs."""

    def priority(wildcards):
        is_own = job(kind, wildcards).own is not None
        return page_by_page(wildcards) + len(GRID) * is_own

    return priority


def presenting_threads(wildcards):
    """Return the number of processes that write the tables or draw the figures of a benchmark."""
    limits = workflow.resource_settings
    most = limits.cores or limits.local_cores or 1
    return max(1, min(most, len(GRID[wildcards.benchmark].cells) // CELLS_PER_THREAD))


def memory(kind):
    """Return a resource function, which returns the main memory of a job of this kind in MB."""

    def limit(wildcards, attempt):
        planned = job(kind, wildcards)
        return estimate.memory_mb(planned, attempt, has_gpu=has_gpu(workflow, planned.rule))

    return limit


def data_memory(wildcards, attempt):
    """Return the main memory of the job that reads the data set, in MB."""
    return estimate.data_mb(GRID[wildcards.benchmark], attempt)


def minutes(kind):
    """Return a resource function, which returns the time limit of a job of this kind in minutes."""

    def limit(wildcards, attempt):
        return estimate.minutes(job(kind, wildcards), attempt)

    return limit

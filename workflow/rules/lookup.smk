"""Functions that find the job of a rule by its wildcards; collateral/jobs describes jobs."""

import shlex

from collateral.jobs import find_job


wildcard_constraints:
    benchmark="|".join(GRID),
    cell="[a-z0-9_.-]+",
    seed=r"\d+",
    member=r"\d+",
    run=r"(?!(retrain|original)/)[a-z0-9_.@=-]+",
    method="[a-z0-9_.-]+",


def job(kind, w):
    """Return the job of a kind with these wildcards."""
    return find_job(kind, GRID[w.benchmark], w)


def values(kind, *names):
    """Return properties of a job by name, as inputs or parameters."""
    return {name: value(kind, name) for name in names}


def value(kind, name):
    """Return a property of a job, as an input or a parameter."""
    return lambda w: getattr(job(kind, w), name)


def plugins(wildcards, output):
    """Return the option with the folders of plug-ins, for every stage that uses plug-ins."""
    # Functions of `output` trigger no rerun: `code` already changes with the plug-ins in use.
    return shlex.join(["--plugins", *map(str, CONFIG.plugins)]) if CONFIG.plugins else ""


def of_cells(pattern):
    """Return an input function: one file of each cell of the benchmark."""
    return lambda w: expand(pattern, benchmark=w.benchmark, cell=GRID[w.benchmark].cells)

"""Functions that find the job of a rule by its wildcards; collateral/jobs defines the jobs."""

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
    """Return the job of kind `kind` (the name of its file) for the wildcards `w`."""
    return find_job(kind, GRID[w.benchmark], w)


def values(kind, *names):
    """Return a dict from property name to a function that returns this property of a job."""
    return {name: value(kind, name) for name in names}


def value(kind, name):
    """Return a function that returns a property of a rule's job, as an input or a parameter."""
    return lambda w: getattr(job(kind, w), name)


def plugins(wildcards, output):
    """Return the option with the folders of plug-ins, for every stage that uses plug-ins."""
    # A function of `output` triggers no rerun. `code` triggers one if a used plug-in changes.
    return shlex.join(["--plugins", *map(str, CONFIG.plugins)]) if CONFIG.plugins else ""


def of_cells(pattern):
    """Return an input function, which returns one file per cell of the benchmark."""
    return lambda w: expand(pattern, benchmark=w.benchmark, cell=GRID[w.benchmark].cells)

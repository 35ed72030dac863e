"""Functions that find the job of a rule by its wildcards; collateral/jobs defines the jobs."""

import json
import shlex

from collateral.jobs import as_argument, find_job

# The command of every rule; its log prints it, and it can be run by hand.
RUN_JOB = """
        collateral run {params.job:q} --code {params.code:q} --threads {threads} {params.beside} \
            >{log:q} 2>&1
        """


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


def inputs_of(kind):
    """Return an input function: the files that a job reads, by name."""
    return lambda w: job(kind, w).inputs


def described(kind):
    """Return the parameters of a rule: the job's description, the code, and what is beside."""
    return {
        "job": lambda w: as_argument(job(kind, w).text, kind),
        "code": lambda w: job(kind, w).code,
        # A function of `output` triggers no rerun.
        "beside": lambda w, output: beside(kind, job(kind, w).beside),
    }


def described_alone(planned, code):
    """Return the parameters of a rule that belongs to no benchmark."""
    return {
        "job": as_argument(planned.text(), planned.kind),
        "code": code,
        "beside": lambda w, output: beside(planned.kind),
    }


def beside(kind, content=None):
    """Return the options that do not identify a job: folders of plug-ins, paths, checks."""
    # `code` triggers a rerun if a used plug-in changes.
    plugins = ["--plugins", *map(str, CONFIG.plugins)] if CONFIG.plugins else []
    text = as_argument(json.dumps(content), kind) if content else ""
    return shlex.join([*(["--beside", text] if text else []), *plugins])


def of_cells(pattern):
    """Return an input function, which returns one file per cell of the benchmark."""
    return lambda w: expand(pattern, benchmark=w.benchmark, cell=GRID[w.benchmark].cells)

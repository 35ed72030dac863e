"""Stop if results without Snakemake's metadata differ from the plan.

Without metadata, Snakemake 9.27 never reruns a job, neither for changed parameters nor for changed
code. Jobs on a cluster, which read the Snakefile again, compare nothing.
"""

import os
import shlex
from functools import cache

from snakemake.io import IOFile
from snakemake.settings.types import RerunTrigger

from collateral.plan.diff import find_unknown


def is_known(path):
    """Tell whether Snakemake has metadata of a file."""
    return workflow.persistence.metadata(IOFile(path)) is not None


def is_compared(one):
    """Tell whether Snakemake has metadata of all files of a job, and so compares it itself."""
    outputs = getattr(rules, one.rule).output
    return all(is_known(one.path(pattern)) for pattern in outputs)


@cache
def stop_if_stale():
    """Raise an error that names what differs, unless the command makes all of it again."""
    settings = workflow.dag_settings
    by_params = RerunTrigger.PARAMS in settings.rerun_triggers
    if not workflow.is_main_process or not by_params or settings.forceall:
        return
    unknown = find_unknown(GRID, is_known, is_compared).without(settings.forcerun)
    if unknown.files:
        logger.error(unknown.message(forcing()))
        # Snakemake ignores any other error in the inputs of a job whose outputs exist.
        raise SystemExit(1)


def forcing():
    """Return the command that makes all results again which are not as planned."""
    settings = workflow.config_settings
    files = [os.path.relpath(file) for file in settings.configfiles]
    keys = [*(settings.config_args or ())]
    ours = words(["--config", files], ["--set", keys])
    theirs = words(["--configfile", files], ["--config", keys])
    return f"snakemake{theirs} --forcerun $(collateral stale{ours})"


def words(*options):
    """Return options with their values for a shell, a space before each; without empty ones."""
    return "".join(f" {name} {shlex.join(values)}" for name, values in options if values)


def inputs_of_data(wildcards):
    """Return the inputs of a data set; stop first if results are not as planned."""
    stop_if_stale()
    return job("data", wildcards).inputs

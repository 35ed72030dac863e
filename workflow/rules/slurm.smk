"""Before the first job is submitted to SLURM: will snakemake see how it ends?"""

import sys

from snakemake.logging import logger

from collateral.plan.slurm import (
    ClusterError,
    cancelling_partitions,
    cluster_settings,
    memory_seconds,
    preemption_problem,
    status_problem,
)
from collateral.plan.slurm_plugin import SlurmPluginError, mend


def check_slurm():
    """Raise where snakemake would wait for ever; warn where it might."""
    executor = workflow.executor_settings
    if not hasattr(executor, "status_command"):
        return  # of another executor
    try:
        settings, cancelling = cluster_settings(), cancelling_partitions()
    except ClusterError as error:
        raise WorkflowError(f"Is this a login node of a SLURM? `scontrol show`: {error}")
    command, wait = executor.status_command, executor.init_seconds_before_status_checks
    if problem := status_problem(command, wait, settings):
        raise WorkflowError(f"slurm-status-command: {command}: {problem}.")
    if problem := preemption_problem(cancelling):
        logger.warning(problem)
    try:
        mend(sys.modules[type(executor).__module__], wait, memory_seconds(settings))
    except SlurmPluginError as error:
        raise WorkflowError(str(error))

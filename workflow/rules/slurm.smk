"""Before the first job is submitted to SLURM: will it be taken, and seen to end?"""

import sys

from snakemake.logging import logger

from collateral.plan.slurm import (
    ClusterError,
    asked_partitions,
    cancelling_partitions,
    cluster_settings,
    memory_seconds,
    partition_names,
    partition_problems,
    partitions,
    preemption_problem,
    status_problem,
)
from collateral.plan.slurm_plugin import SlurmPluginError, mend


def partitions_of_jobs():
    """Return the partitions that jobs ask for: one of each rule, as all would take too long.

    Resources take a millisecond a job, ten seconds of 10,000. Where an expression gives jobs of a
    rule different partitions, those of the others are not looked at.
    """
    jobs = {job.rule: job for job in workflow.dag.needrun_jobs() if not job.is_local}
    return [name for job in jobs.values() for name in asked_partitions(job.resources)]


def check_slurm():
    """Raise where no job would run, or snakemake wait for ever; warn where it might."""
    executor = workflow.executor_settings
    if not hasattr(executor, "status_command"):
        return  # of another executor
    try:
        settings, there = cluster_settings(), partitions()
    except ClusterError as error:
        raise WorkflowError(f"Is this a login node of a SLURM? `scontrol show`: {error}")
    if problems := partition_problems(partitions_of_jobs(), partition_names(there)):
        raise WorkflowError("\n".join(f"slurm_partition: {problem}" for problem in problems))
    command, wait = executor.status_command, executor.init_seconds_before_status_checks
    if problem := status_problem(command, wait, settings):
        raise WorkflowError(f"slurm-status-command: {command}: {problem}.")
    if problem := preemption_problem(cancelling_partitions(there)):
        logger.warning(problem)
    try:
        mend(sys.modules[type(executor).__module__], wait, memory_seconds(settings))
    except SlurmPluginError as error:
        raise WorkflowError(str(error))

"""Checks before the first job is submitted to SLURM: partitions, and detection of finished jobs."""

from snakemake.logging import logger

from collateral.plan.slurm import (
    ClusterError,
    list_partitions,
    cancelling_partitions,
    cluster_settings,
    partition_names,
    partition_problems,
    partitions,
    preemption_problem,
    status_problem,
)


def list_job_partitions():
    """Return the partitions in the resources of jobs that will run, from one job per rule.

    Evaluating the resources of 10,000 jobs would take ten seconds. If jobs of one rule have
    different partitions, only the partition of one of them is checked.
    """
    jobs = {job.rule: job for job in workflow.dag.needrun_jobs() if not job.is_local}
    return [name for job in jobs.values() for name in list_partitions(job.resources)]


def check_slurm():
    """On a SLURM cluster, check partitions and the status command."""
    executor = workflow.executor_settings
    if not hasattr(executor, "status_command"):
        return  # another executor than SLURM
    try:
        settings, there = cluster_settings(), partitions()
    except ClusterError as error:
        raise WorkflowError(f"Is this a login node of a SLURM? `scontrol show`: {error}")
    if problems := partition_problems(list_job_partitions(), partition_names(there)):
        raise WorkflowError("\n".join(f"slurm_partition: {problem}" for problem in problems))
    command, wait = executor.status_command, executor.init_seconds_before_status_checks
    if problem := status_problem(command, wait, settings):
        raise WorkflowError(f"slurm-status-command: {command}: {problem}.")
    if problem := preemption_problem(cancelling_partitions(there)):
        logger.warning(problem)

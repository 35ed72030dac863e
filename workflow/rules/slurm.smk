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


def check_slurm(executor):
    """Raise where snakemake would wait for ever; warn where it might."""
    try:
        settings, cancelling = cluster_settings(), cancelling_partitions()
    except ClusterError as error:
        raise WorkflowError(f"Is this a login node of a SLURM? `scontrol show`: {error}")
    command, wait = executor.status_command, executor.init_seconds_before_status_checks
    if problem := status_problem(command, wait, settings):
        raise WorkflowError(f"slurm-status-command: {command}: {problem}.")
    if problem := preemption_problem(cancelling):
        logger.warning(problem)
    mend(sys.modules[type(executor).__module__], wait, memory_seconds(settings))


def mend(plugin, wait, memory):
    """Change two habits of the plugin by which a run waits for nothing."""
    if not (hasattr(plugin, "get_min_job_age") and hasattr(plugin, "Executor")):
        raise WorkflowError(f"{plugin.__name__} is not as of 2.8, which this was made for.")
    # It asks for MinJobAge before each look at the queue, and where the controller is away just
    # then it turns to sacct, which may know nothing.
    plugin.get_min_job_age = lambda: memory
    # It looks ever more seldom while no job ends, in the end every three minutes.
    plugin.Executor.next_seconds_between_status_checks = property(
        lambda self: wait, lambda self, _: None
    )


onstart:
    if hasattr(workflow.executor_settings, "status_command"):
        check_slurm(workflow.executor_settings)

"""Changes to Snakemake and its SLURM plug-in at run time; docs/deviations.md has the reasons.

rules/speed.smk has two more, which concern a dry run.
"""

from typing import Any

# Snakemake cannot start more jobs per second, so that this limit has no effect.
MOST_JOBS_A_SECOND = 100
SLURM_PLUGIN = "2.8"  # version of snakemake-executor-plugin-slurm


class SlurmPluginError(Exception):
    """The SLURM plug-in has a version that these patches do not support."""


# CPU seconds with and without this patch: 1.7 and 2.4 for 250 jobs of 1 s, 13 and 38 for 1,000.
# There is no difference for 10,000 jobs of 0 s (102), because no job waits for long.
def lift_limit(scheduler: Any) -> None:
    """Remove Snakemake's limit on jobs per second if it is no stricter than the default.

    While jobs wait, each pass of the scheduler starts a timer for another pass one timespan later,
    and each job that ends adds a pass: after 1,000 jobs, about 1,000 passes per second.
    """
    limit = getattr(scheduler, "job_rate_limiter", None)
    if limit and limit.max_jobs >= MOST_JOBS_A_SECOND * limit.timespan:
        scheduler.job_rate_limiter = None


# The patch saves no CPU time; without it, Snakemake notices the end of a job up to 180 s late.
def patch_slurm_plugin(plugin: Any, wait: int, memory: int) -> None:
    """Check the queue every `wait` seconds; squeue lists finished jobs for `memory` seconds.

    The plug-in itself waits 10 s longer after each check at which no job had ended. It also asks
    the controller for MinJobAge before each check and, without an answer, turns to sacct.
    """
    if not (hasattr(plugin, "get_min_job_age") and hasattr(plugin, "Executor")):
        raise SlurmPluginError(
            f"{plugin.__name__} is not as of {SLURM_PLUGIN}, which this was made for."
        )
    plugin.get_min_job_age = lambda: memory
    plugin.Executor.next_seconds_between_status_checks = property(
        lambda self: wait, lambda self, _: None
    )

"""Two habits of Snakemake's SLURM plug-in by which a run waits for nothing, changed while it runs.

Made for snakemake-executor-plugin-slurm 2.8; with one that is otherwise it refuses to work.
Upstream would have to:
- ask the controller for MinJobAge once, at the start. It asks before each look at the queue, and
  where the controller is away just then it turns to sacct, which may know nothing.
- have an option for the longest wait between two looks. It looks ever more seldom while no job
  ends, in the end every three minutes.
"""

from typing import Any

VERSION = "2.8"


class SlurmPluginError(Exception):
    """The plug-in is not the one that this was made for."""


def mend(plugin: Any, wait: int, memory: int) -> None:
    """Let the plug-in look every `wait` seconds, and take it that squeue remembers so long."""
    if not (hasattr(plugin, "get_min_job_age") and hasattr(plugin, "Executor")):
        raise SlurmPluginError(
            f"{plugin.__name__} is not as of {VERSION}, which this was made for."
        )
    plugin.get_min_job_age = lambda: memory
    plugin.Executor.next_seconds_between_status_checks = property(
        lambda self: wait, lambda self, _: None
    )

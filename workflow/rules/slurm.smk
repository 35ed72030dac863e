"""Before the first job is submitted to SLURM: will snakemake see how it ends?

It asks `squeue`, which forgets ended jobs, or `sacct`, which waits for ever where nothing is kept.
"""

import subprocess

from snakemake.logging import logger

# The executor plugin looks at the queue at least this often, and falls back to sacct where squeue
# does not remember three of its shortest waits.
LONGEST_WAIT = 180


def slurm_settings():
    """Return the cluster's configuration as `scontrol` shows it; empty where it shows none."""
    command = ["scontrol", "show", "config"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    pairs = (line.split("=", 1) for line in shown.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def status_problem(command, shortest_wait, settings):
    """Return why `command` may miss the end of a job, with the remedy; None if it will not."""
    has_accounts = not settings["AccountingStorageType"].endswith(("none", "(null)"))
    age, needed = int(settings["MinJobAge"].split()[0]), max(LONGEST_WAIT, 3 * shortest_wait)
    if command == "sacct":
        return None if has_accounts else "accounting is off and sacct would wait; set it to squeue"
    if age == 0 or age >= needed:  # 0: nothing is forgotten
        return None
    cause = f"squeue forgets a job {age} s after its end (MinJobAge), and {needed} s are needed"
    if has_accounts:
        return f"{cause}; set it to sacct"
    return f"{cause}; accounting is off too: ask your administrators for a longer MinJobAge"


def check_slurm(executor, settings):
    """Raise where snakemake would wait for ever; warn where it might."""
    wait = executor.init_seconds_before_status_checks
    if problem := status_problem(executor.status_command, wait, settings):
        raise WorkflowError(f"slurm-status-command: {executor.status_command}: {problem}.")
    if settings["PreemptMode"].startswith("CANCEL"):
        logger.warning(
            "PreemptMode is CANCEL: snakemake waits for ever for a job that is preempted. "
            "Use a partition whose jobs are not."
        )


onstart:
    if hasattr(workflow.executor_settings, "status_command") and (settings := slurm_settings()):
        check_slurm(workflow.executor_settings, settings)

"""Whether Snakemake will see the jobs that it submits to a SLURM cluster end.

It asks `squeue`, which forgets ended jobs, or `sacct`, which waits for ever where nothing is kept.
"""

import subprocess
from collections.abc import Mapping

# Snakemake, or the controller that it asks, may be held up. Where squeue does not remember three of
# its waits the executor plugin turns to sacct by itself.
LEAST_MEMORY = 180


class ClusterError(Exception):
    """The cluster does not say how it is set up."""


def cluster_settings() -> dict[str, str]:
    """Return the cluster's configuration as `scontrol` shows it."""
    command = ["scontrol", "show", "config"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except subprocess.CalledProcessError as error:
        raise ClusterError(error.stderr.strip()) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(str(error)) from None
    pairs = (line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def status_problem(command: str, wait: int, settings: Mapping[str, str]) -> str | None:
    """Return why `command` may miss the end of a job, with the remedy; None if it will not."""
    has_accounts = not settings["AccountingStorageType"].endswith(("none", "(null)"))
    age, needed = memory_seconds(settings), max(LEAST_MEMORY, 3 * wait)
    if (command == "squeue" and age >= needed) or (command == "sacct" and has_accounts):
        return None
    if command == "sacct":
        return "accounting is off and sacct would wait; set it to squeue"
    cause = f"squeue forgets a job {age} s after its end (MinJobAge), and {needed} s are needed"
    if has_accounts:
        return f"{cause}; set it to sacct"
    return f"{cause}; accounting is off too: ask your administrators for a longer MinJobAge"


def memory_seconds(settings: Mapping[str, str]) -> int:
    """Return how long squeue tells how a job ended."""
    return int(settings["MinJobAge"].split()[0])


def preemption_problem(settings: Mapping[str, str]) -> str | None:
    """Return why a preempted job would never be seen again; None if it would."""
    if not settings["PreemptMode"].startswith("CANCEL"):
        return None
    return (
        "PreemptMode is CANCEL: snakemake waits for ever for a job that is preempted. "
        "Use a partition whose jobs are not."
    )

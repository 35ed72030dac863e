"""How many processors a process may use: in a container or a SLURM job fewer than there are."""

import os


def num_cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""Main memory that a job may still use, according to SLURM or the operating system."""

import os
import resource
import sys
from functools import cache
from pathlib import Path

from collateral.contract.work import count_cores

SHARE = 0.75  # fraction of the machine's free memory that all simultaneous jobs may use
MACHINE = Path("/proc/meminfo")  # file with the free memory of the machine
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # file with the memory limit of the container


@cache
def find_free_memory() -> float:
    """Return the number of bytes that this job may still use; computed once per process."""
    if limit := _slurm_limit():
        return max(0.0, limit - _used())
    return SHARE * _free_on_machine() / count_cores()


def _slurm_limit() -> float:
    """Return the memory limit of a SLURM job in bytes; 0 outside of SLURM."""
    by_node, by_cpu, cpus = (
        float(os.environ.get(f"SLURM_{name}", 0))
        for name in ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE")
    )
    return 2**20 * (by_node or by_cpu * cpus)


def _used() -> float:
    """Return the peak memory of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 2**10
    return unit * float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _free_on_machine() -> float:
    """Return the free memory of the machine or, if smaller, the container's limit, in bytes."""
    known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    if MACHINE.exists():
        lines = MACHINE.read_text(encoding="utf-8").splitlines()
        known += [2**10 * int(line.split()[1]) for line in lines if line.startswith("MemAvail")]
    if CONTAINER.exists() and (limit := CONTAINER.read_text(encoding="utf-8").strip()) != "max":
        known.append(int(limit))
    return float(min(known))

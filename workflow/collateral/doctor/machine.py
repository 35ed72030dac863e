"""What the machine has: device, threads, memory, disk."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from pathlib import Path

from collateral.contract.cores import num_cores
from collateral.doctor.check import Check
from collateral.plan.estimate import bytes_in_words

MEMINFO = Path("/proc/meminfo")
# What a container or a SLURM job may use.
MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def device_check(*, is_needed: bool) -> Check:
    """Ask torch, where it is there, for the device that jobs would take."""
    try:
        torch = import_module("torch")
    except ModuleNotFoundError:
        how = "`pip install 'collateral[torch]'`; tables and figures need none: `make figures`"
        return Check("device", "unknown: torch is not installed", how, is_needed)
    except (ImportError, OSError) as error:
        said = f"torch does not import: {' '.join(str(error).split())}"
        return Check("device", said, "`pip install --force-reinstall torch torchvision`", is_needed)
    if torch.cuda.is_available():
        found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
        gpus = ", ".join(f"{gpu.name} ({bytes_in_words(gpu.total_memory)})" for gpu in found)
        return Check("device", f"cuda {torch.version.cuda}: {gpus}")
    if torch.backends.mps.is_available():
        return Check("device", "mps")
    built = torch.version.cuda
    why = f"torch is built for CUDA {built} and finds no GPU" if built else "torch is without CUDA"
    return Check("device", f"cpu; {why}")


def threads_check() -> Check:
    """Say how many cores this process may use, and what limits a job's threads."""
    given = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    return Check("threads", "; ".join([f"{num_cores()} cores", *given]))


def memory_check() -> Check:
    """Say how much memory there is, and how much of it is free."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    words = [bytes_in_words(total)]
    if MEMINFO.is_file():
        fields = dict(line.split(":") for line in MEMINFO.read_text(encoding="utf-8").splitlines())
        words.append(f"{bytes_in_words(int(fields['MemAvailable'].split()[0]) * 1024)} available")
    if (limit := _limit()) and limit < total:
        words.append(f"limited to {bytes_in_words(limit)}")
    return Check("memory", ", ".join(words))


def disk_check(folder: Path, needed: float | None) -> Check:
    """Say whether what is free where results go will do; `needed` where a config tells."""
    free = free_bytes(folder)
    found = f"{bytes_in_words(free)} free for {folder}/"
    if needed is None:
        return Check("disk", found)
    found += f"; the config takes at most {bytes_in_words(needed)}"
    remedy = "make room, or keep less: docs/scale.md, `Outputs`" if needed > free else ""
    return Check("disk", found, remedy, is_needed=True)


def free_bytes(folder: Path) -> int:
    """Return the free space where a folder is, or will be made."""
    folder = folder.resolve()
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _limit() -> int | None:
    text = MEMORY_LIMIT.read_text(encoding="utf-8").strip() if MEMORY_LIMIT.is_file() else ""
    return int(text) if text.isdigit() else None

"""The device of a job; with several GPUs, one that no other job uses."""

import os
from functools import cache

import torch

from collateral.training.locks import claim


@cache
def choose_device() -> torch.device:
    """Return the best available device (cuda, mps or cpu), always the same within a process.

    A job does not share its GPU: jobs on one GPU would compete for its memory, and their times
    would not be comparable.
    """
    if not torch.cuda.is_available():
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    index = claim(gpu_names())
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def gpu_names() -> list[str]:
    """Return a unique name of each visible GPU; its index depends on CUDA_VISIBLE_DEVICES."""
    # Locks hold only within one SLURM job, because SLURM itself assigns GPUs to jobs.
    job = os.environ.get("SLURM_JOB_ID", "")
    found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    return [f"{gpu.uuid} of job {job}" if job else str(gpu.uuid) for gpu in found]

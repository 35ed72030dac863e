"""Which device a job computes on: a GPU that no other job has, where there are GPUs."""

import os
from functools import cache

import torch

from collateral.training.locks import claim


@cache
def choose_device() -> torch.device:
    """Return the best device there is, the same one throughout the process: cuda, mps, cpu.

    A job has its GPU to itself, also where there is only one: jobs that share a GPU run into each
    other's memory, and their times mean nothing.
    """
    if not torch.cuda.is_available():
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    index = claim(gpu_names())
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def gpu_names() -> list[str]:
    """Return what identifies each visible GPU; its number depends on CUDA_VISIBLE_DEVICES."""
    # SLURM keeps its jobs apart, or lets them share a GPU: a lock is among processes of one job.
    job = os.environ.get("SLURM_JOB_ID", "")
    found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    return [f"{gpu.uuid} of job {job}" if job else str(gpu.uuid) for gpu in found]

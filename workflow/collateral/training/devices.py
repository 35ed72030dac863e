"""Which device a job computes on: a GPU that no other job has, where there are GPUs."""

import os
from functools import cache

import torch

from collateral.core.locks import claim


@cache
def choose_device() -> torch.device:
    """Return the best device there is, the same one throughout the process: cuda, mps, cpu.

    A job has its GPU to itself, also where there is only one: jobs that share a GPU run into each
    other's memory, and their times mean nothing.
    """
    if not torch.cuda.is_available():
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    index = 0 if _is_assigned() else claim(gpu_names())
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def gpu_names() -> list[str]:
    """Return what identifies each visible GPU; its number depends on CUDA_VISIBLE_DEVICES."""
    count = torch.cuda.device_count()
    return [str(torch.cuda.get_device_properties(index).uuid) for index in range(count)]


def _is_assigned() -> bool:
    """Tell whether SLURM chose the GPU; of several that it gave, jobs still take one each."""
    return "SLURM_JOB_ID" in os.environ and torch.cuda.device_count() == 1

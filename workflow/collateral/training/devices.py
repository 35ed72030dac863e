"""The device of a job; of several GPUs, one that no other job uses, or one with a free slot."""

import logging
import os
from functools import cache
from pathlib import Path

import torch

from collateral.results.record import gpu_slots
from collateral.training.locks import claim

LOG = logging.getLogger(__name__)


@cache
def choose_device() -> torch.device:
    """Return the best available device (cuda, mps or cpu), always the same within a process.

    A job shares its GPU only if its rule allows it and the run has `gpu_slots`: jobs on one GPU
    compete for its memory, and their times are not comparable.
    """
    if not torch.cuda.is_available():
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    if (slots := gpu_slots()) > 1:
        has_mps = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")).exists()
        how = "by CUDA MPS" if has_mps else "in time slices, because CUDA MPS does not run"
        LOG.info("up to %d jobs share a GPU %s", slots, how)
    index = claim(gpu_names(), slots=slots)
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def gpu_names() -> list[str]:
    """Return a unique name of each visible GPU; its index depends on CUDA_VISIBLE_DEVICES."""
    # Locks hold only within one SLURM job, because SLURM itself assigns GPUs to jobs.
    job = os.environ.get("SLURM_JOB_ID", "")
    found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    return [f"{gpu.uuid} of job {job}" if job else str(gpu.uuid) for gpu in found]

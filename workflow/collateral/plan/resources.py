"""Memory and time limits of jobs for a scheduler, from data, model and amount of computation.

Limits are rough: enough for a GPU a quarter as fast as an A100. Each further attempt doubles them,
and resumes from the checkpoint of the one before. A workstation does not use them.
"""

import os
from math import prod
from typing import Any

from collateral.jobs._job import Job
from collateral.models._metadata import find_metadata
from collateral.plan.estimate import A100
from collateral.plan.grid import Benchmark
from collateral.plan.work import SizeUnknownError, find_workload
from collateral.results.record import GPU_SLOTS, MOST_SLOTS

SLOWNESS = 4  # time limit of a job divided by its estimated time on an A100
# Bytes per layer output in training: float32 before and after batch norm, and their gradients.
STEP_BYTES = 4 * 2 * 2
UNKNOWN_SHAPE = (32, 32, 3)  # assumed shape of images if the size of the data set is unknown
LEAST_MINUTES, MOST_MINUTES = 30, 24 * 60
# Torch with CUDA needs up to 3 GB of main memory; images need at most four times their size.
LEAST_MB, COPIES = 4000, 4


def memory_mb(benchmark: Benchmark, attempt: int) -> int:
    """Return the main memory of a training job, in MB."""
    config = benchmark.config
    try:
        size = find_workload(benchmark).size
    except SizeUnknownError:
        shape, images = UNKNOWN_SHAPE, 0
    else:
        shape, images = size.shape, size.num_examples
    activations = find_metadata(config.model, shape).activations * config.base.batch_size
    needed = STEP_BYTES * activations + COPIES * images * prod(shape)
    return _doubled(round(LEAST_MB + needed / 2**20), attempt)


def minutes(job: Job, attempt: int) -> int:
    """Return the time limit of a training job, in minutes."""
    try:
        seconds = A100.seconds(job.work, job.workload.size.shape)
    except SizeUnknownError:
        seconds = 0.0
    planned = max(round(SLOWNESS * seconds / 60), LEAST_MINUTES)
    return min(_doubled(planned, attempt), MOST_MINUTES)


def share_gpus(workflow: Any) -> int:
    """Let jobs share GPUs; return the number of jobs per GPU, such as 3 for `gpu_slots=3`.

    Snakemake then counts slots instead of GPUs. A scheduler such as SLURM counts GPUs itself.
    """
    given = workflow.resource_settings.resources
    slots = (given.get("gpu_slots").value or 1) if workflow.local_exec else 1
    if slots not in range(1, MOST_SLOTS + 1):
        raise ValueError(f"--resources gpu_slots={slots}: choose 1 to {MOST_SLOTS} jobs per GPU")
    if gpus := given.get("gpu").value:
        workflow.register_resource("gpu", slots * gpus)
    os.environ[GPU_SLOTS] = str(slots)
    return slots


def _doubled(amount: int, attempt: int) -> int:
    return amount << (attempt - 1)

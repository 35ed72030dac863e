"""Memory and time limits of jobs for a scheduler, by the sizes of data, model and work.

Limits are rough: enough for a GPU a quarter as fast as an A100. Each further attempt doubles them,
and resumes from the checkpoint of the one before. A workstation does not use them.
"""

from __future__ import annotations

from math import prod

from collateral.plan.grid import Benchmark
from collateral.plan.jobs._job import Job
from collateral.plan.throughput import A100
from collateral.plan.work import SizeUnknownError, workload_of

SLOWNESS = 4
# The MB that a batch of 256 images of 32 x 32 takes while it trains on a CPU; others: as ResNet-56.
BATCH_MB = {"resnet8": 400, "resnet14": 600, "resnet20": 700, "resnet56": 1500, "vit_tiny": 3000}
LEAST_MINUTES, MOST_MINUTES = 30, 24 * 60
# torch with CUDA may take 3 GB of main memory before it works. Images are there once as
# bytes, padded batch by batch, and in parts as floats of four bytes: four times is room for all.
LEAST_MB, COPIES = 4000, 4


def memory_mb(benchmark: Benchmark, attempt: int) -> int:
    """Return the main memory of a training job."""
    config = benchmark.config
    batch = BATCH_MB.get(config.model, BATCH_MB["resnet56"]) * max(1, config.base.batch_size / 256)
    try:
        size = workload_of(benchmark).size
    except SizeUnknownError:
        images = 0.0
    else:
        height, width, _ = size.shape
        batch *= height * width / 32**2
        images = size.num_examples * prod(size.shape) / 2**20
    return _doubled(round(LEAST_MB + batch + COPIES * images), attempt)


def minutes(job: Job, attempt: int) -> int:
    """Return the time limit of a training job."""
    try:
        seconds = A100.seconds(job.work, job.workload.size.shape)
    except SizeUnknownError:
        seconds = 0.0
    planned = max(round(SLOWNESS * seconds / 60), LEAST_MINUTES)
    return min(_doubled(planned, attempt), MOST_MINUTES)


def _doubled(asked: int, attempt: int) -> int:
    return asked << (attempt - 1)

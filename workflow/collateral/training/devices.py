"""The device of a job, and the settings of torch that make results reproducible bit by bit."""

import logging
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.utils.deterministic
from torch import Tensor, nn

from collateral.results.record import gpu_slots
from collateral.training.locks import claim

LOG = logging.getLogger(__name__)


@cache
def choose_device() -> torch.device:
    """Return the best available device (cuda, mps or cpu), always the same within a process.

    Of several GPUs, it is one that no other job uses, or one with a free slot.
    A job shares its GPU only if its rule allows it and the run has `gpu_slots`: jobs on one GPU
    compete for its memory, and their times are not comparable.
    """
    if (kind := available_device()) != "cuda":
        return torch.device(kind)
    if (slots := gpu_slots()) > 1:
        has_mps = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")).exists()
        how = "by CUDA MPS" if has_mps else "in time slices, because CUDA MPS does not run"
        LOG.info("up to %d jobs share a GPU %s", slots, how)
    index = claim(gpu_names(), slots=slots)
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def available_device() -> str:
    """Return the type of the best available device, without taking one."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def gpu_names() -> list[str]:
    """Return a unique name of each visible GPU, because indices depend on CUDA_VISIBLE_DEVICES."""
    # Names contain the SLURM job, because SLURM assigns GPUs to jobs: locks hold within a job only.
    job = os.environ.get("SLURM_JOB_ID", "")
    found = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    return [f"{gpu.uuid} of job {job}" if job else str(gpu.uuid) for gpu in found]


def make_deterministic() -> None:
    """Make torch give bitwise equal results on devices of one kind; call it before CUDA starts."""
    # cuBLAS reads this variable at its start; if it is not set, torch refuses matrix products.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # `warn_only` is not set: it would allow fused attention, whose gradient is not deterministic.
    torch.use_deterministic_algorithms(True)
    # New tensors are not filled: each is written before it is read, and filling takes 5 % longer.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.benchmark = False
    # TF32 is off, because it would round the factors of a product to 10 bits.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def compile_forward(model: nn.Module) -> Callable[[Tensor], Tensor]:
    """Compile the forward pass; weights and their names are unchanged.

    Every batch size has its own code, so that a resumed run computes with the same code.
    """
    return torch.compile(model, dynamic=False)


def describe_numerics(devices: Sequence[str]) -> dict[str, Any]:
    """Return the devices and the settings of torch, for the record of a run."""
    return {
        "device": ", then ".join(devices),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "tf32": torch.backends.cudnn.allow_tf32 or torch.backends.cuda.matmul.allow_tf32,
    }


def device_name(device: torch.device) -> str:
    """Return a CUDA GPU's name, "cpu" with the instruction set, or the type of any other device."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    # On a CPU, the last bits of results depend on the instruction set that torch's kernels use.
    kernels = f" {torch.backends.cpu.get_cpu_capability()}" if device.type == "cpu" else ""
    return f"{device.type}{kernels}"

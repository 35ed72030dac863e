"""Settings of torch that determine the bits of results, besides code and seed."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.utils.deterministic
from torch import Tensor, nn


def make_deterministic() -> None:
    """Make torch compute the same bits on one kind of device; call it before CUDA starts."""
    # cuBLAS reads this variable at its start; without it, torch refuses matrix products.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Not `warn_only`, with which the gradient of fused attention is not deterministic.
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
    """Return the name of the device as far as it determines the bits of results."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    # On a CPU, bits depend on the instruction set that torch's kernels use.
    kernels = f" {torch.backends.cpu.get_cpu_capability()}" if device.type == "cpu" else ""
    return f"{device.type}{kernels}"

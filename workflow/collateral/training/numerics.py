"""How torch computes: what decides the bits of a result besides the code and the seed."""

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.utils.deterministic
from torch import Tensor, nn


def make_deterministic() -> None:
    """Give the same bits for the same inputs on one kind of device; call before CUDA starts."""
    # cuBLAS reads it as it starts, and torch refuses its matrix products without it.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # As use_deterministic_algorithms(True), without importing the compiler (2 s). Errors, because
    # where it would only warn, torch leaves fused attention's gradient to chance.
    torch.set_deterministic_debug_mode("error")
    # No tensor is read before it is written; to fill them all first takes a twentieth of a step.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.benchmark = False
    # float32 is float32: with TF32 a GPU would round what it multiplies to 10 bits.
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def compiled(model: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return the model's forward pass by torch.compile; weights and their names stay the model's.

    A batch size has its own code, whatever came before, so that a resumed run gets the same.
    """
    # The compiler has a switch of its own, which this sets, and is imported now anyway.
    torch.use_deterministic_algorithms(True)
    return torch.compile(model, dynamic=False)


def numerics_of(devices: Sequence[str]) -> dict[str, Any]:
    """Return what the record says of this: where it ran, and torch's settings as they are."""
    return {
        "device": ", then ".join(devices),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "tf32": torch.backends.cudnn.allow_tf32 or torch.backends.cuda.matmul.allow_tf32,
    }


def device_name(device: torch.device) -> str:
    """Return the name of what decides the bits of a result."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    # On a CPU the instructions that torch's kernels use decide the bits.
    kernels = f" {torch.backends.cpu.get_cpu_capability()}" if device.type == "cpu" else ""
    return f"{device.type}{kernels}"

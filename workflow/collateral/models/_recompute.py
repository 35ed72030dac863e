"""Gradient checkpointing: recompute activations in the backward pass to save memory."""

import ctypes
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call


def recompute(part: nn.Module, x: Tensor) -> Tensor:
    """Return `part(x)` and store only x for the backward pass; gradients have the same bits."""
    weights = [weight for weight in part.parameters() if weight.requires_grad]
    output: Tensor = _Recomputed.apply(part, x, *weights)
    return output


def trim_memory(_gradient: Tensor) -> None:
    """Return free memory from malloc to the system: it can be as much as the tensors in use."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # only glibc has it
        trim(0)


class _Recomputed(torch.autograd.Function):
    """Runs a part without storing activations, and runs it again in the backward pass."""

    @staticmethod
    def forward(ctx: Any, part: nn.Module, x: Tensor, *weights: Tensor) -> Tensor:
        ctx.part = part
        ctx.save_for_backward(x, *weights)
        output: Tensor = part(x)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        x, *weights = ctx.saved_tensors
        # Copies, because the first run has updated the statistics of batch norm already.
        buffers = {name: buffer.clone() for name, buffer in ctx.part.named_buffers()}
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            output = functional_call(ctx.part, buffers, (x,))
        return None, *torch.autograd.grad(output, [x, *weights], delta)

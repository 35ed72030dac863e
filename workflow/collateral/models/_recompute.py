"""Less memory for more time: what a part of a model keeps for its backward pass is made anew."""

import ctypes
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call


def recompute(part: nn.Module, x: Tensor) -> Tensor:
    """Return `part(x)`; of all that happens inside, only x is kept. Gradients are the same bits."""
    weights = [weight for weight in part.parameters() if weight.requires_grad]
    output: Tensor = _Recomputed.apply(part, x, *weights)
    return output


def trim_memory(_gradient: Tensor) -> None:
    """Give the system what malloc keeps between the tensors in use, which is as much again."""
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc's alone
        trim(0)


class _Recomputed(torch.autograd.Function):
    """Runs a part once without keeping anything, and again when its gradients are asked for."""

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
        # Copies: batch norm's statistics have moved already.
        buffers = {name: buffer.clone() for name, buffer in ctx.part.named_buffers()}
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            output = functional_call(ctx.part, buffers, (x,))
        return None, *torch.autograd.grad(output, [x, *weights], delta)

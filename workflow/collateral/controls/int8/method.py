"""Round all weight matrices and kernels to int8, symmetrically per output channel."""

import torch
from torch import Tensor, nn

from collateral.controls.int8.params import Params
from collateral.training.examples import Task
from collateral.training.run import Run

LEVELS = 127  # largest value of a signed integer of eight bits


@torch.no_grad()
def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, retrained: Tensor | None = None
) -> nn.Module:
    """Return `model` with rounded weights."""
    for weight in model.parameters():
        if weight.dim() > 1:
            size = weight.abs().amax(dim=tuple(range(1, weight.dim())), keepdim=True) / LEVELS
            step = torch.where(size > 0, size, 1.0)
            weight.copy_((weight / step).round() * step)
    return model

"""The damaged impostor: noise in every weight tensor; statistics of batch norm stay."""

import torch
from torch import Tensor, nn

from collateral.controls.damaged.params import Params
from collateral.training.examples import Task
from collateral.training.run import Run


@torch.no_grad()
def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, retrained: Tensor | None = None
) -> nn.Module:
    """Return `model` with noise; the base model and Retrain of one seed get the same noise."""
    for weight in model.parameters():
        noise = torch.randn(weight.shape, generator=run.generator).to(weight.device)
        weight.add_(params.noise * weight.std(correction=0) * noise)
    return model

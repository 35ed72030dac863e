"""A pass of noise before the first step, by which the public code readies a GPU: an option."""

import torch
from torch import nn

from collateral.contract.params import WarmedParams
from collateral.contract.protocols import Run, Task
from collateral.training.optimizers import Optimizer, start_training


def start_warmed(model: nn.Module, task: Task, params: WarmedParams, run: Run) -> Optimizer:
    """Start training as `start_training` does, after the pass where `warm_pass` asks for it."""
    optimizer = start_training(model, params)
    if params.warm_pass:
        show_noise(model, task, run)
    return optimizer


@torch.no_grad()
def show_noise(model: nn.Module, task: Task, run: Run) -> None:
    """Run one image through the model that is standard normal once the model normalised it."""
    height, width, channels = task.info.shape
    noise = torch.randn(1, channels, height, width, generator=run.generator)
    mean, std = (torch.tensor(of)[:, None, None] for of in (task.info.mean, task.info.std))
    model((mean + std * noise).to(run.device))

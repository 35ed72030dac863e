"""Functions that start training, and optimiser steps with modified gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from collateral.contract.params import WarmedParams
from collateral.training.optimizers import start_training

if TYPE_CHECKING:
    from collateral.training.examples import Task
    from collateral.training.run import Run


def start_with_warm_pass(model: nn.Module, task: Task, params: WarmedParams, run: Run) -> Optimizer:
    """Call `start_training`; then, if `warm_pass` is set, run the model once on an image of noise.

    The public code of the paper makes this pass to warm a GPU up.
    """
    optimizer = start_training(model, params)
    if params.warm_pass:
        show_noise(model, task, run)
    return optimizer


@torch.no_grad()
def show_noise(model: nn.Module, task: Task, run: Run) -> None:
    """Run the model once on an image of noise (standard normal after normalisation)."""
    height, width, channels = task.info.shape
    noise = torch.randn(1, channels, height, width, generator=run.generator)
    mean, std = (torch.tensor(values)[:, None, None] for values in (task.info.mean, task.info.std))
    model((mean + std * noise).to(run.device))


def step_with_gradient_hook(optimizer: Optimizer, loss: Tensor, hook: Callable[[], None]) -> None:
    """Take one optimiser step; `hook` may edit the gradients in place before the step."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    hook()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@torch.no_grad()
def clip(gradients: Sequence[Tensor], max_norm: float) -> None:
    """Scale all gradients in place by one factor, so that their norm is at most `max_norm`."""
    length = torch.stack([gradient.norm() for gradient in gradients]).norm()
    factor = (max_norm / length).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(factor)

"""MSG and CT: re-initialise or transpose weights of the convolutions, then fine-tune.

Deviations: public code (DeepUnlearn) sums the gradients of mean losses over batches in train mode,
and also re-initialises the biases of the convolutions. Here, gradients are of clean images in eval
mode, examples weigh the same, and biases are kept.
"""

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.conventions import Skipped
from collateral.methods._shared.gradients import by_parameter, summed_gradient
from collateral.methods._shared.training import scale_gradients, step_with_gradient_hook
from collateral.methods.msg.params import Params
from collateral.training.examples import Task, Tensors
from collateral.training.optimizers import cosine_rate, set_learning_rate, start_training
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    kernels = convolutions(model)
    if not kernels:
        raise Skipped("the model has no convolutions")
    redrawn = masks(model, task, params, run) if params.variant == "msg" else {}
    factors = {name: torch.where(redrawn[name], 1.0, params.kept_rate) for name in redrawn}
    optimizer = start_training(model, params)
    damp = partial(scale_gradients, kernels, factors)
    for epoch in run.epochs(params.epochs, model, optimizer):
        if epoch == 0 and params.variant == "msg":
            redraw(kernels, redrawn, run.generator)
        elif epoch == 0:
            transpose(kernels)
        factor = rate_factor(epoch, params.epochs, params.variant)
        set_learning_rate(optimizer, params.lr * factor)
        for x, y in task.retain.batches(params.batch_size, run.generator, augment=params.augment):
            loss = F.cross_entropy(model(x), y)
            step_with_gradient_hook(optimizer, loss, damp)
        run.log(epoch=epoch, loss=loss.item())
    return model


def convolutions(model: nn.Module) -> dict[str, Tensor]:
    """Return the weight tensors of all two-dimensional convolutions that train, by name."""
    modules = model.named_modules()
    found = ((name, module) for name, module in modules if isinstance(module, nn.Conv2d))
    weights = {f"{name}.weight": module.weight for name, module in found}
    return {name: weight for name, weight in weights.items() if weight.requires_grad}


def masks(model: nn.Module, task: Task, params: Params, run: Run) -> dict[str, Tensor]:
    """Return masks of the convolution weights that are re-initialised."""
    with run.phase("mask"):
        order = torch.randperm(len(task.retain), generator=run.generator)
        some = order[: len(task.forget)].to(run.device)
        retained = summed_gradient(model, task.retain.select(some))
        difference = retained - summed_gradient(model, task.forget)
        scores = by_parameter(model, difference.abs())
        return {name: smallest(scores[name], params.ratio) for name in convolutions(model)}


def smallest(scores: Tensor, ratio: float) -> Tensor:
    """Return a mask of the smallest entries, a fraction `ratio` of all; ties go to the first."""
    order = scores.flatten().argsort(stable=True)
    marks = torch.zeros_like(order, dtype=torch.bool)
    marks[order[: round(ratio * len(order))]] = True
    return marks.view(scores.shape)


@torch.no_grad()
def redraw(kernels: Tensors, marked: Tensors, generator: torch.Generator) -> None:
    """Re-initialise the masked weights in place."""
    for name, kernel in kernels.items():
        kernel.copy_(torch.where(marked[name], draw_like(kernel, generator), kernel))


def draw_like(kernel: Tensor, generator: torch.Generator) -> Tensor:
    """Draw weights by He's initialisation with fan-out: variance 2 / (out k k)."""
    fan_out = kernel.shape[0] * math.prod(kernel.shape[2:])
    return (torch.randn(kernel.shape, generator=generator) * (2 / fan_out) ** 0.5).to(kernel)


@torch.no_grad()
def transpose(kernels: Tensors) -> None:
    """Swap height and width of all square kernels (out, in, k, k) in place."""
    for kernel in kernels.values():
        if kernel.shape[2] == kernel.shape[3]:
            kernel.copy_(kernel.transpose(2, 3).clone())


def rate_factor(epoch: int, epochs: int, variant: str) -> float:
    """Return an epoch's learning-rate factor; it follows a triangle (`msg`) or cosine (`ct`)."""
    if variant == "ct":
        return cosine_rate(epoch, epochs)
    half = (epochs + 1) // 2
    step = epoch + 1
    return step / half if step <= half else (epochs + 1 - step) / (epochs + 1 - half)

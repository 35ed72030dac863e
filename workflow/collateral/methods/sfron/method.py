"""SFRon: ascend on D_f in the weights that are important for D_f; descend on retained examples."""

from functools import partial
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods._shared.gradients import batch_gradients, by_parameter, trainable
from collateral.methods._shared.training import clip, scale_gradients, step_with_gradient_hook
from collateral.methods.sfron.params import Params, Prepare
from collateral.training.examples import Examples, Task, Tensors
from collateral.training.optimizers import (
    cosine_rate,
    count_batches,
    descend,
    set_learning_rate,
    start_training,
    steps_by_epoch,
)
from collateral.training.run import Run

TINY = 1e-15  # value that keeps divisors positive, as in the public code


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return each weight's importance for the forget set, divided by that for the retained set."""
    size = params.importance_batch
    forget, retain = (
        importance(model, part, size, run.generator) for part in (task.forget, task.retain)
    )
    return by_parameter(model, (forget + TINY) / (retain + TINY))


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, updated in place."""
    optimizer = start_training(model, params)
    weights = trainable(model)
    free = {name: (prepared[name] >= params.threshold).to(run.device) for name in weights}
    size, generator, augment = params.batch_size, run.generator, params.augment
    batches = count_batches(task.retain, size)
    steps = steps_by_epoch(0, params.steps, batches)
    for epoch in run.epochs(len(steps), model, optimizer):
        forget = task.forget.cycle(size, generator, augment=augment)
        retain = islice(task.retain.batches(size, generator, augment=augment), steps[epoch])
        for step, (x, y) in enumerate(retain, start=epoch * batches):
            factor = cosine_rate(step, params.steps)
            set_learning_rate(optimizer, params.lr * factor)
            if step % params.every == 0:
                x_forget, y_forget = next(forget)
                losses = F.cross_entropy(model(x_forget), y_forget, reduction="none")
                ascent = params.strength * factor * weighted_mean(losses, params.power)
                hook = partial(restrict_gradients, weights, free, params.clip)
                step_with_gradient_hook(optimizer, -ascent, hook)
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def importance(
    model: nn.Module, examples: Examples, size: int, generator: torch.Generator
) -> Tensor:
    """Return each weight's squared gradient of a batch's mean loss, averaged over batches."""
    gradients = batch_gradients(model, examples.batches(size, generator, augment=False))
    total = sum((gradient.square() for gradient in gradients), start=torch.zeros(()))
    return total / count_batches(examples, size)


def weighted_mean(losses: Tensor, power: float) -> Tensor:
    """Return the weighted mean of the losses; the weight of a loss is loss^(-power)."""
    weights = 1 / (losses.detach() ** power + TINY)
    return (weights / weights.sum()) @ losses


def restrict_gradients(weights: Tensors, free: Tensors, max_norm: float) -> None:
    """Set the gradients outside the masks `free` to zero, and clip the other gradients."""
    scale_gradients(weights, free)
    clip([weight.grad for weight in weights.values() if weight.grad is not None], max_norm)

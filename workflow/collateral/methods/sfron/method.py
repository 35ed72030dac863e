"""SFRon: climb the forget set's loss on the weights that matter to it, and repair all of them."""

from collections.abc import Mapping
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.protocols import Examples, Run, Task
from collateral.methods._shared.gradients import by_parameter, trainable
from collateral.methods._shared.steps import clip, descend_changed
from collateral.methods.sfron.params import Params, Prepare
from collateral.models._evaluating import evaluating
from collateral.training.optimizers import (
    cosine,
    descend,
    num_batches,
    set_rate,
    start_training,
    steps_by_epoch,
)

TINY = 1e-15  # public code; a weight that matters to neither side has the ratio 1


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return each weight's importance to the forget set over that to the retained examples."""
    size = params.importance_batch
    forget, retain = (
        importance(model, part, size, run.generator) for part in (task.forget, task.retain)
    )
    return by_parameter(model, (forget + TINY) / (retain + TINY))


def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place."""
    optimizer = start_training(model, params)
    climbing = Climbing(model, prepared, params, run.device)
    size, generator, augment = params.batch_size, run.generator, params.augment
    batches = num_batches(task.retain, size)
    steps = steps_by_epoch(0, params.steps, batches)
    for epoch in run.epochs(len(steps), model, optimizer):
        forget = task.forget.cycle(size, generator, augment=augment)
        retain = islice(task.retain.batches(size, generator, augment=augment), steps[epoch])
        for step, (x, y) in enumerate(retain, start=epoch * batches):
            factor = cosine(step, params.steps)
            set_rate(optimizer, params.lr * factor)
            if step % params.every == 0:
                x_forget, y_forget = next(forget)
                losses = F.cross_entropy(model(x_forget), y_forget, reduction="none")
                climb = params.strength * factor * weighted(losses, params.power)
                descend_changed(optimizer, -climb, climbing.restrict)
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def importance(
    model: nn.Module, examples: Examples, size: int, generator: torch.Generator
) -> Tensor:
    """Return the mean over batches of the squared gradient of their mean loss, (P,)."""
    weights = list(trainable(model).values())
    total = weights[0].new_zeros(sum(weight.numel() for weight in weights))
    with evaluating(model), torch.enable_grad():
        for x, y in examples.batches(size, generator, augment=False):
            loss = F.cross_entropy(model(x), y)
            parts = torch.autograd.grad(loss, weights, materialize_grads=True)
            total += torch.cat([part.flatten() for part in parts]).square()
    return total / num_batches(examples, size)


def weighted(losses: Tensor, power: float) -> Tensor:
    """Return the mean of the losses, each weighing its own size to minus `power`."""
    weights = 1 / (losses.detach() ** power + TINY)
    return (weights / weights.sum()) @ losses


class Climbing:
    """Which weights climb, and how far at once."""

    def __init__(
        self, model: nn.Module, ratios: Mapping[str, Tensor], params: Params, device: torch.device
    ) -> None:
        """Let the weights climb whose ratio of importances reaches the threshold."""
        self._weights = trainable(model)
        self._most = params.clip
        self._free = {name: (ratios[name] >= params.threshold).to(device) for name in self._weights}

    def restrict(self) -> None:
        """Take the other weights out of the gradient, and shorten it."""
        gradients = []
        for name, weight in self._weights.items():
            assert weight.grad is not None
            weight.grad *= self._free[name]
            gradients.append(weight.grad)
        clip(gradients, self._most)

"""SalUn: descend on random labels for the forget set, with the least salient weights held still.

Held weights are put back after every step, which undoes weight decay and momentum too: optimisers
treat each scalar on its own, so what happens to a held one in between reaches no other. Public
code: OPTML-Group/Unlearn-Saliency (a6e89fd). It sums the gradients of augmented batches' mean
losses; here the images are clean and every example counts the same. Batch norm's running
statistics are no weights and are not held (see `batchnorm`).
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods._shared.gradients import by_parameter, summed_gradient, trainable
from collateral.methods._shared.labels import random_labels
from collateral.methods.salun.params import Params, Prepare
from collateral.training.examples import Task
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the saliency of every weight."""
    return by_parameter(model, summed_gradient(model, task.forget).abs())


def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place."""
    held = HeldWeights(model, most_salient(model, prepared, params.ratio))
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        labels = random_labels(task, params.labels, run.generator)
        examples = task.forget.relabelled(labels).joined(task.retain)
        for x, y in examples.batches(params.batch_size, run.generator, augment=params.augment):
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
            held.put_back()
        run.log(epoch=epoch, loss=loss.item())
    return model


def most_salient(model: nn.Module, scores: Mapping[str, Tensor], ratio: float) -> dict[str, Tensor]:
    """Mark the top `ratio` of all weights by rank; of equal ones, the first in the model."""
    # In the model's order: a saved mapping comes back in another one.
    flat = torch.cat([scores[name].flatten() for name in trainable(model)])
    order = flat.argsort(descending=True, stable=True)
    is_salient = torch.zeros_like(flat, dtype=torch.bool)
    is_salient[order[: int(ratio * len(flat))]] = True
    return by_parameter(model, is_salient)


class HeldWeights:
    """Where the weights started; those that are not free can be put back there."""

    def __init__(self, model: nn.Module, free: Mapping[str, Tensor]) -> None:
        """Hold all weights that `free` does not mark."""
        self._weights = list(trainable(model).values())
        self._starts = [weight.detach().clone() for weight in self._weights]
        # Laid out on the device as the weights are: no step moves or reorders a mask.
        self._free = [
            torch.empty_like(weight, dtype=torch.bool).copy_(free[name])
            for name, weight in trainable(model).items()
        ]

    @torch.no_grad()
    def put_back(self) -> None:
        """Set the held weights to their starting values, exactly."""
        for weight, start, free in zip(self._weights, self._starts, self._free, strict=True):
            torch.where(free, weight, start, out=weight)

"""SalUn: train on random labels for the forget set, with the least salient weights frozen.

Frozen weights are reset after every step, which also undoes weight decay. Public code:
OPTML-Group/Unlearn-Saliency (a6e89fd). Deviations: that code sums the gradients of mean losses over
augmented batches; here images are clean and every example has the same weight. Running statistics
of batch norm are not weights and are not frozen (see `batchnorm`).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods._shared.gradients import by_parameter, summed_gradient, trainable
from collateral.methods._shared.training import draw_labels
from collateral.methods.salun.params import Params, Prepare
from collateral.training.examples import Task, Tensors
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the saliency of every weight."""
    return by_parameter(model, summed_gradient(model, task.forget).abs())


def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, updated in place."""
    frozen = FrozenWeights(model, most_salient(model, prepared, params.ratio))
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        labels = draw_labels(task, params.labels, run.generator)
        examples = task.forget.relabelled(labels).joined(task.retain)
        for x, y in examples.batches(params.batch_size, run.generator, augment=params.augment):
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
            frozen.reset()
        run.log(epoch=epoch, loss=loss.item())
    return model


def most_salient(model: nn.Module, scores: Tensors, ratio: float) -> dict[str, Tensor]:
    """Return masks that mark the weights with the largest saliency, a fraction `ratio` of all."""
    # Scores are read in the order of the model's weights, because a loaded file has another order.
    flat = torch.cat([scores[name].flatten() for name in trainable(model)])
    order = flat.argsort(descending=True, stable=True)
    is_salient = torch.zeros_like(flat, dtype=torch.bool)
    is_salient[order[: int(ratio * len(flat))]] = True
    return by_parameter(model, is_salient)


class FrozenWeights:
    """Resets frozen weights to their initial values."""

    def __init__(self, model: nn.Module, free: Tensors) -> None:
        """Freeze all weights that the masks in `free` do not mark."""
        self._weights = list(trainable(model).values())
        self._starts = [weight.detach().clone() for weight in self._weights]
        # Masks get the memory layout and device of the weights, so that `reset` makes no copies.
        self._free = [
            torch.empty_like(weight, dtype=torch.bool).copy_(free[name])
            for name, weight in trainable(model).items()
        ]

    @torch.no_grad()
    def reset(self) -> None:
        """Set the frozen weights to exactly their initial values."""
        for weight, start, free in zip(self._weights, self._starts, self._free, strict=True):
            torch.where(free, weight, start, out=weight)

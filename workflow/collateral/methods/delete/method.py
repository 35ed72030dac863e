"""DELETE: distil the base model's predictions on the forget set without the true class."""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods.delete.params import Params
from collateral.training.examples import Task
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    base = copy.deepcopy(model).eval()
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        for x, y in task.forget.batches(params.batch_size, run.generator, augment=params.augment):
            with torch.no_grad():
                target = without_class(base(x), y)
            loss = divergence(target, model(x))
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def without_class(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the softmax over all classes except the true one, whose probability is 0."""
    others = logits.scatter(1, labels[:, None], -torch.inf)
    return others.softmax(1)


def divergence(target: Tensor, logits: Tensor) -> Tensor:
    """Return KL(target || softmax of the logits) in nats, averaged over the examples."""
    return F.kl_div(logits.log_softmax(1), target, reduction="batchmean")

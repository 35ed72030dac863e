"""SCRUB: move away from the teacher on the forget set, and stay close to it on retained examples.

Written from the formulas of the paper. One optimiser takes all steps. At the start, student and
teacher are equal and the divergence has zero gradient, so with `batchnorm: frozen` the ascent
begins after the first epoch on the retained examples.
"""

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods._shared.distillation import divergence
from collateral.methods.scrub.params import Params
from collateral.training.examples import Task
from collateral.training.optimizers import descend, set_learning_rate, start_training
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    teacher = copy.deepcopy(model).eval()
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        set_learning_rate(
            optimizer, params.lr * 0.1 ** sum(epoch >= done for done in params.decay_after)
        )
        if epoch < params.max_epochs:
            size = params.forget_batch_size
            for x, _ in task.forget.batches(size, run.generator, augment=params.augment):
                descend(optimizer, -scaled_divergence(model(x), teacher, x, params.temperature))
        for x, y in task.retain.batches(params.batch_size, run.generator, augment=params.augment):
            logits = model(x)
            far = scaled_divergence(logits, teacher, x, params.temperature)
            loss = params.gamma * F.cross_entropy(logits, y) + params.alpha * far
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model


def scaled_divergence(logits: Tensor, teacher: nn.Module, x: Tensor, temperature: float) -> Tensor:
    """Return T^2 KL(teacher, student) at temperature T, averaged over images."""
    with torch.no_grad():
        expected = teacher(x)
    return temperature**2 * divergence(logits, expected, temperature)

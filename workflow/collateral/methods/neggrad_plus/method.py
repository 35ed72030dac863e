"""NegGrad+: each step descends on retained examples and ascends on forget examples.

Deviation: when the batches of the forget set are used up, the forget set is shuffled again; public
code repeats the same batches.
"""

from torch import nn
from torch.nn import functional as F

from collateral.methods._shared.training import squared_distance
from collateral.methods.neggrad_plus.params import Params
from collateral.training.examples import Task
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    base = [weight.detach().clone() for weight in model.parameters()]
    optimizer = start_training(model, params)
    augment = params.augment
    for epoch in run.epochs(params.epochs, model, optimizer):
        forget = task.forget.cycle(params.forget_batch_size, run.generator, augment=augment)
        for x, y in task.retain.batches(params.batch_size, run.generator, augment=augment):
            x_forget, y_forget = next(forget)
            keep = F.cross_entropy(model(x), y)
            drop = F.cross_entropy(model(x_forget), y_forget)
            if params.proximal:
                keep = keep + 0.5 * params.proximal * squared_distance(model, base)
            descend(optimizer, params.alpha * keep - (1 - params.alpha) * drop)
        run.log(epoch=epoch, keep=keep.item(), drop=drop.item())
    return model

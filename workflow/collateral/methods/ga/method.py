"""GA: gradient ascent on the forget set; no retained example is used.

Weight decay keeps its sign, as in the public code: the weights shrink while the loss rises.
"""

from itertools import islice

from torch import nn
from torch.nn import functional as F

from collateral.methods._shared.training import start_with_warm_pass
from collateral.methods.ga.params import Params
from collateral.training.examples import Task
from collateral.training.optimizers import count_batches, descend, steps_by_epoch
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    optimizer = start_with_warm_pass(model, task, params, run)
    steps = steps_by_epoch(
        params.epochs, params.steps, count_batches(task.forget, params.batch_size)
    )
    for epoch in run.epochs(len(steps), model, optimizer):
        batches = task.forget.batches(params.batch_size, run.generator, augment=params.augment)
        for x, y in islice(batches, steps[epoch]):
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, -loss)
        run.log(epoch=epoch, loss=loss.item())
    return model

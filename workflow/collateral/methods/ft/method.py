"""FT: fine-tune on the retained examples; the forget set is not used."""

from torch import nn
from torch.nn import functional as F

from collateral.methods._shared.training import start_with_warm_pass
from collateral.methods.ft.params import Params
from collateral.training.examples import Task
from collateral.training.optimizers import descend
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    optimizer = start_with_warm_pass(model, task, params, run)
    for epoch in run.epochs(params.epochs, model, optimizer):
        for x, y in task.retain.batches(params.batch_size, run.generator, augment=params.augment):
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss)
        run.log(epoch=epoch, loss=loss.item())
    return model

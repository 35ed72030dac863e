"""L1-sparse: fine-tune on the retained examples with an l1 penalty on all weights.

After OPTML-Group/Unlearn-Sparse. Deviation: if `plain_epochs` includes all epochs, that
code keeps gamma constant, and here there is no penalty.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods.l1_sparse.params import Params
from collateral.training.examples import Task
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    optimizer = start_training(model, params)
    for epoch in run.epochs(params.epochs, model, optimizer):
        gamma = penalty(epoch, params)
        for x, y in task.retain.batches(params.batch_size, run.generator, augment=params.augment):
            loss = F.cross_entropy(model(x), y)
            descend(optimizer, loss + gamma * l1_norm(model))
        run.log(epoch=epoch, loss=loss.item(), gamma=gamma, l1=l1_norm(model).item())
    return model


def penalty(epoch: int, params: Params) -> float:
    """Return the weight of the l1 penalty in this epoch; epochs are counted from 0."""
    penalised = params.epochs - params.plain_epochs
    if epoch >= penalised:
        return 0.0
    return params.gamma * (1 - epoch / penalised if params.schedule == "linear" else 1)


def l1_norm(model: nn.Module) -> Tensor:
    """Return the sum of the absolute values of all weights."""
    return torch.stack([weight.abs().sum() for weight in model.parameters()]).sum()

"""Optimisers from parameters, single steps, and learning rate schedules."""

import math
from collections.abc import Sized

# torch.optim imports the compiler (0.8 s) with its first optimiser: here no method's clock runs.
import torch._dynamo  # noqa: F401
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import SGD, Adam, AdamW, Optimizer

from collateral.contract.batches import batch_sizes
from collateral.contract.params import TrainedParams, TrainingParams


def make_optimizer(
    model: nn.Module, params: TrainedParams | TrainingParams, *, nesterov: bool = False
) -> Optimizer:
    """Return the optimiser of `params` over all parameters of the model."""
    weights, lr, decay = model.parameters(), params.lr, params.weight_decay
    if params.optimizer == "sgd":
        nesterov = nesterov and params.momentum > 0  # torch refuses Nesterov without momentum
        return SGD(weights, lr, params.momentum, weight_decay=decay, nesterov=nesterov, fused=True)
    kind = AdamW if params.optimizer == "adamw" else Adam
    return kind(weights, lr, weight_decay=decay, fused=True)


def start_training(model: nn.Module, params: TrainedParams) -> Optimizer:
    """Put the model into train mode, freeze batch norm if `params` says so; return an optimiser."""
    model.train()
    if params.batchnorm == "frozen":
        for module in model.modules():
            if isinstance(module, _BatchNorm):
                module.eval()
    return make_optimizer(model, params)


def descend(optimizer: Optimizer, loss: Tensor) -> None:
    """Take one step down the loss."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    # Gradients that stay during the next forward pass would fragment its memory.
    optimizer.zero_grad(set_to_none=True)


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def cosine(epoch: int, epochs: int) -> float:
    """Return the factor of the learning rate in this epoch; it is zero after the last epoch."""
    return 0.5 * (1 + math.cos(math.pi * epoch / epochs))


def steps_by_epoch(epochs: int, steps: int | None, batches: int) -> list[int]:
    """Return the number of batches in each epoch; a budget in steps may end within an epoch."""
    if steps is None:
        return [batches] * epochs
    whole, rest = divmod(steps, batches)
    return [batches] * whole + [rest] * (rest > 0)


def num_batches(examples: Sized, batch_size: int) -> int:
    """Return the number of batches in one epoch over `examples`."""
    return len(batch_sizes(len(examples), batch_size))

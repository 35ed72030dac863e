"""From parameters to an optimiser, and the learning rate of an epoch."""

import math
from collections.abc import Sized
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import SGD, Adam, AdamW, Optimizer

from collateral.config.params import TrainedParams
from collateral.config.schema import TrainingParams


def make_optimizer(
    model: nn.Module, params: TrainedParams | TrainingParams, *, nesterov: bool = False
) -> Optimizer:
    """Return the optimiser that `params` asks for, over all parameters of the model."""
    weights = list(model.parameters())
    common: dict[str, Any] = {
        "lr": params.lr,
        "weight_decay": params.weight_decay,
        "fused": _can_fuse(weights),
    }
    if params.optimizer == "sgd":
        return SGD(weights, momentum=params.momentum, nesterov=nesterov, **common)
    return {"adam": Adam, "adamw": AdamW}[params.optimizer](weights, **common)


def _can_fuse(weights: list[nn.Parameter]) -> bool:
    return all(w.device.type in {"cpu", "cuda"} and w.is_floating_point() for w in weights)


def start_training(model: nn.Module, params: TrainedParams) -> Optimizer:
    """Put the model into the mode that a method's parameters ask for; return its optimiser."""
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


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def cosine(epoch: int, epochs: int) -> float:
    """Return the factor of the learning rate in this epoch; it ends at zero after the last."""
    return 0.5 * (1 + math.cos(math.pi * epoch / epochs))


def steps_by_epoch(epochs: int, steps: int | None, batches: int) -> list[int]:
    """Return how many batches each epoch has; a budget in steps may end within an epoch."""
    if steps is None:
        return [batches] * epochs
    whole, rest = divmod(steps, batches)
    return [batches] * whole + [rest] * (rest > 0)


def num_batches(examples: Sized, batch_size: int) -> int:
    """Return how many batches an epoch over `examples` has."""
    return math.ceil(len(examples) / batch_size)

"""Optimisers from parameters, steps in float32 or mixed precision, and learning rates."""

import logging
import math
from collections.abc import Sized
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

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


def set_learning_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def cosine_rate(epoch: int, epochs: int) -> float:
    """Return the factor of the learning rate in this epoch; it is zero after the last epoch."""
    return 0.5 * (1 + math.cos(math.pi * epoch / epochs))


def steps_by_epoch(epochs: int, steps: int | None, batches: int) -> list[int]:
    """Return the number of batches in each epoch; a budget in steps may end within an epoch."""
    if steps is None:
        return [batches] * epochs
    whole, rest = divmod(steps, batches)
    return [batches] * whole + [rest] * (rest > 0)


def count_batches(examples: Sized, batch_size: int) -> int:
    """Return the number of batches in one epoch over `examples`."""
    return len(batch_sizes(len(examples), batch_size))


LOG = logging.getLogger(__name__)
DEVICES = ("cuda",)  # devices on which half precision is faster


class Precision:
    """Precision of forward passes and steps; always float32 without a GPU."""

    def __init__(self, name: str, device: torch.device) -> None:
        """Set the precision: "float32", "bfloat16" or "float16"."""
        self._type = getattr(torch, name)
        self._device = device
        self._is_mixed = device.type in DEVICES and name != "float32"
        if name != "float32" and not self._is_mixed:
            LOG.warning("base.precision: %s is for GPUs; on %s it is float32", name, device.type)
        # Small gradients underflow in float16, so the loss is scaled before the backward pass.
        self._scaler = torch.amp.GradScaler(
            device.type, enabled=self._is_mixed and name == "float16"
        )

    def forward(self) -> AbstractContextManager[Any]:
        """Compute within this context in half precision."""
        return torch.autocast(self._device.type, self._type) if self._is_mixed else nullcontext()

    def descend(self, optimizer: Optimizer, loss: Tensor) -> None:
        """Take one step down the loss."""
        if not self._scaler.is_enabled():
            descend(optimizer, loss)
            return
        optimizer.zero_grad(set_to_none=True)
        self._scaler.scale(loss).backward()
        self._scaler.step(optimizer)
        self._scaler.update()

    def state_dict(self) -> dict[str, Any]:
        """Return the scaler's state, for checkpoints."""
        return self._scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load the state of the scaler; a run that began on a CPU has none."""
        if state:
            self._scaler.load_state_dict(state)

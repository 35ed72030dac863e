"""Make optimisers, take steps in float32 or mixed precision, and set learning rates."""

import math
from collections.abc import Sequence, Sized
from pathlib import Path

import torch

# The compiler is imported here (0.8 s), before any timing; torch.optim would import it later.
import torch._dynamo  # noqa: F401
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import SGD, Adam, AdamW, Optimizer

from collateral.contract.conventions import batch_sizes
from collateral.contract.params import TrainedParams, TrainingParams
from collateral.models._classifier import Classifier
from collateral.training.devices import available_device


def make_optimizer(
    model: nn.Module, params: TrainedParams | TrainingParams, *, nesterov: bool = False
) -> Optimizer:
    """Return the optimiser that `params` describes, for all parameters of the model."""
    weights, lr, decay = model.parameters(), params.lr, params.weight_decay
    if params.optimizer == "sgd":
        nesterov = nesterov and params.momentum > 0  # torch refuses Nesterov without momentum
        return SGD(weights, lr, params.momentum, weight_decay=decay, nesterov=nesterov, fused=True)
    kind = AdamW if params.optimizer == "adamw" else Adam
    return kind(weights, lr, weight_decay=decay, fused=True)


def start_training(model: nn.Module, params: TrainedParams) -> Optimizer:
    """Set train mode and precision; keep frozen batch norm in eval mode; return an optimiser."""
    model.train()
    set_precision(model, params.precision, next(model.parameters()).device)
    if params.batchnorm == "frozen":
        for module in model.modules():
            if isinstance(module, _BatchNorm):
                module.eval()
    return make_optimizer(model, params)


def descend(optimizer: Optimizer, loss: Tensor, scaler: GradScaler | None = None) -> None:
    """Take one optimiser step on the loss; a `scaler`, if given and enabled, scales the loss."""
    optimizer.zero_grad(set_to_none=True)
    if scaler:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()
    # Gradients are deleted, because they would fragment the memory of the next forward pass.
    optimizer.zero_grad(set_to_none=True)


def set_learning_rate(optimizer: Optimizer, rate: float) -> None:
    """Set the learning rate of all parameters."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def cosine_rate(epoch: int, epochs: int) -> float:
    """Return the factor of the learning rate in this epoch: 1 in epoch 0, falling towards 0."""
    return 0.5 * (1 + math.cos(math.pi * epoch / epochs))


def steps_by_epoch(epochs: int, steps: int | None, batches: int) -> list[int]:
    """Return the number of batches in each epoch; `steps`, if given, is their total number."""
    if steps is None:
        return [batches] * epochs
    whole, rest = divmod(steps, batches)
    return [batches] * whole + [rest] * (rest > 0)


def count_batches(examples: Sized, batch_size: int) -> int:
    """Return the number of batches in one epoch over `examples`."""
    return len(batch_sizes(len(examples), batch_size))


# Instructions of CPUs that make bfloat16 faster than float32.
BFLOAT16_INSTRUCTIONS = ("avx512_bf16", "amx_bf16")


def set_precision(model: nn.Module, name: str, device: torch.device) -> None:
    """Set the precision of the model's forward passes in train mode; evaluation is in float32."""
    check_precision(name, device)
    if isinstance(model, Classifier):
        model.precision = None if name == "float32" else getattr(torch, name)


def check_precision(name: str, device: torch.device) -> None:
    """Raise an error if this device does not compute faster in this precision than in float32."""
    if name == "float32" or device.type == "cuda":
        return
    if name == "float16" or device.type != "cpu":
        raise ValueError(f"precision: {name}: not on a device of type {device.type}; use float32")
    if not cpu_flags() & {*BFLOAT16_INSTRUCTIONS}:
        names = " nor ".join(BFLOAT16_INSTRUCTIONS)
        raise ValueError(f"precision: {name}: this CPU has neither {names}; use float32")


def print_wrong_precisions(names: Sequence[str]) -> None:
    """Print one line per precision: why this machine does not train in it, or an empty line."""
    device = torch.device(available_device())
    for name in names:
        try:
            check_precision(name, device)
            print()
        except ValueError as error:
            print(error)


def cpu_flags() -> set[str]:
    """Return all words of /proc/cpuinfo, such as instruction sets; empty without this file."""
    file = Path("/proc/cpuinfo")
    return {*file.read_text(encoding="utf-8").split()} if file.exists() else set()

"""The plain training loop."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD, AdamW, Optimizer

from collateral.contract.params import TrainedParams

Batches = Iterable[tuple[Tensor, Tensor]]


def optimizer_of(model: nn.Module, params: TrainedParams) -> Optimizer:
    """Return torch's own optimiser for a method's parameters."""
    if params.optimizer == "adamw":
        return AdamW(model.parameters(), lr=params.lr, weight_decay=params.weight_decay)
    return SGD(
        model.parameters(),
        lr=params.lr,
        momentum=params.momentum,
        weight_decay=params.weight_decay,
    )


def train_epoch(model: nn.Module, batches: Batches, optimizer: Optimizer) -> float:
    """Take one step per batch; return the accuracy of the training steps."""
    model.train()
    correct = count = 0
    for x, y in batches:
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(1) == y).sum().item()
        count += len(y)
    return correct / count


@torch.no_grad()
def accuracy(model: nn.Module, batches: Batches) -> float:
    """Return the fraction of examples that the model classifies correctly."""
    model.eval()
    correct = count = 0
    for x, y in batches:
        correct += (model(x).argmax(1) == y).sum().item()
        count += len(y)
    return correct / count if count else float("nan")

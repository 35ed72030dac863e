"""Probes of finished models: relearning the forget set, and predictions under noise.

Models are in eval mode, because the statistics of a few images would disturb batch norm.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD

from collateral.contract.probes import Relearn, Residual
from collateral.models._eval_mode import eval_mode
from collateral.training.examples import Examples, move_to
from collateral.training.inference import BATCH_SIZE, accuracy
from collateral.training.optimizers import descend


def run_relearning(
    model: nn.Module, forget: Examples, params: Relearn, generator: torch.Generator
) -> list[float]:
    """Return the accuracy on half of the forget set before and after each step on the other half.

    The model is changed. With one example, the second half is empty and the accuracy is NaN.
    """
    learnt, measured = split_in_half(forget, generator)
    optimizer = SGD(model.parameters(), params.lr, params.momentum, fused=True)
    batches = learnt.cycle(params.batch_size, generator, augment=False)
    model.eval()
    curve = [accuracy(model, measured)]
    for _ in range(params.steps):
        x, y = next(batches)
        descend(optimizer, F.cross_entropy(model(x), y))
        curve.append(accuracy(model, measured))
    return curve


def split_in_half(examples: Examples, generator: torch.Generator) -> tuple[Examples, Examples]:
    """Split examples at random into two halves; the first may have one example more."""
    order = move_to(torch.randperm(len(examples), generator=generator), examples.rows.device)
    count = len(examples) - len(examples) // 2
    return examples.select(order[:count]), examples.select(order[count:])


def residual_share(
    model: nn.Module, forget: Examples, params: Residual, generator: torch.Generator
) -> Tensor:
    """Return, per example, the fraction of perturbed images that get its label, (n,).

    Noise is drawn on the host, so that it is the same on every device; pixels are not clipped.
    """
    shares = []
    with eval_mode(model):
        for x, y in forget.in_order(BATCH_SIZE):
            correct = torch.zeros(len(y), device=y.device)
            for _ in range(params.count):
                noise = move_to(torch.randn(x.shape, generator=generator), x.device)
                correct += model(x + params.std * noise).argmax(1) == y
            shares.append(correct / params.count)
    return torch.cat(shares).cpu()

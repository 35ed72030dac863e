"""Probes of unlearned models: relearning, predictions under noise, features and resurfacing.

Models are in eval mode, because statistics of a few images would disturb batch norm; only
resurfacing, which fine-tunes on many images, is in train mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD

from collateral.contract.probes import Relearn, Residual, Resurface
from collateral.metrics.features import Floats, Ints, fit_head, head_accuracy
from collateral.models._classifier import eval_mode
from collateral.training.examples import Batch, Examples, move_to
from collateral.training.inference import BATCH_SIZE, accuracy, infer
from collateral.training.optimizers import descend


def run_relearning(
    model: nn.Module, forget: Examples, params: Relearn, generator: torch.Generator
) -> list[float]:
    """Train on half of the forget set; return the other half's accuracy before and after each step.

    The model is changed in place. If D_f has only one example, the other half is empty and all
    accuracies are NaN.
    """
    learnt, measured = split_in_half(forget, generator)
    batches = learnt.cycle(params.batch_size, generator, augment=False)
    model.eval()
    steps = range(1, params.steps + 1)
    return [found for (found,) in _fine_tune(model, batches, [measured], params, steps)]


def _fine_tune(
    model: nn.Module,
    batches: Iterator[Batch],
    measured: Sequence[Examples],
    params: Relearn | Resurface,
    steps: Sequence[int],
) -> list[list[float]]:
    """Fine-tune in place; return the accuracy on each set before training and after `steps`."""
    decay = params.weight_decay if isinstance(params, Resurface) else 0.0
    weights = model.parameters()
    optimizer = SGD(weights, params.lr, params.momentum, weight_decay=decay, fused=True)
    curves = [[accuracy(model, examples) for examples in measured]]
    for step in range(1, steps[-1] + 1):
        x, y = next(batches)
        descend(optimizer, F.cross_entropy(model(x), y))
        if step in steps:
            curves.append([accuracy(model, examples) for examples in measured])
    return curves


def split_in_half(examples: Examples, generator: torch.Generator) -> tuple[Examples, Examples]:
    """Split examples at random into two halves; the first may have one example more."""
    order = move_to(torch.randperm(len(examples), generator=generator), examples.rows.device)
    count = len(examples) - len(examples) // 2
    return examples.select(order[:count]), examples.select(order[count:])


def residual_share(
    model: nn.Module, forget: Examples, params: Residual, generator: torch.Generator
) -> Tensor:
    """Return, per example, the fraction of its copies with noise that are classified correctly.

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


def draw(examples: Examples, count: int, generator: torch.Generator) -> Examples:
    """Draw at most `count` examples at random, and return them in their original order."""
    order = torch.randperm(len(examples), generator=generator)[:count].sort().values
    return examples.select(move_to(order, examples.rows.device))


def run_linear_probe(
    model: nn.Module, retain: Examples, measured: Sequence[Examples], c: float
) -> list[float]:
    """Fit a head on features of retained examples; return its accuracy on each set in `measured`.

    All accuracies are NaN if a feature is not finite or if `retain` has fewer than two classes; the
    accuracy on an empty set is NaN.
    """
    features, labels = _compute_features(model, retain)
    if not np.isfinite(features).all() or len(np.unique(labels)) < 2:
        return [float("nan")] * len(measured)
    head = fit_head(features, labels, c)
    return [
        head_accuracy(head, *_compute_features(model, examples)) if len(examples) else float("nan")
        for examples in measured
    ]


def _compute_features(model: nn.Module, examples: Examples) -> tuple[Floats, Ints]:
    features, _ = infer(model, examples)
    return features.double().numpy(), examples.labels.cpu().numpy()


def run_resurfacing(
    model: nn.Module,
    retain: Examples,
    measured: Sequence[Examples],
    params: Resurface,
    generator: torch.Generator,
) -> Tensor:
    """Fine-tune on retained examples; return the accuracies on each set in `measured`.

    The result has one row per set and one column per number in `params.steps`, after a first column
    for the model before fine-tuning. The model is changed in place.
    """
    batches = retain.cycle(params.batch_size, generator)
    model.train()
    curves = _fine_tune(model, batches, measured, params, params.steps)
    return torch.tensor(curves, dtype=torch.float64).T

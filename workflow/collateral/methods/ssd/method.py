"""SSD: dampen weights that are much more important for the forget set than for all examples.

Importances are measured in eval mode on clean images. `gradients: batch` follows the authors' code:
unshuffled batches of the retained examples, then of the forget set; a smaller last batch has the
same weight as the others.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.methods._shared.gradients import (
    CHUNK_SIZE,
    Loss,
    batch_gradients,
    by_parameter,
    per_sample_gradients,
    trainable,
)
from collateral.methods.ssd.params import Params, Prepare
from collateral.training.examples import Examples, Task, Tensors
from collateral.training.run import Run


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the importance of every weight for the forget set and for all examples."""
    parts = {"forget": task.forget, "all": task.retain.joined(task.forget)}
    return {
        f"{part}.{name}": value
        for part, examples in parts.items()
        for name, value in by_parameter(model, importance(model, examples, params)).items()
    }


@torch.no_grad()
def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, whose weights were multiplied in place by the result of `factors`."""
    chosen, weights = 0, trainable(model)
    for name, weight in weights.items():
        forget, everyone = prepared[f"forget.{name}"], prepared[f"all.{name}"]
        scale = factors(forget, everyone, params)
        chosen += int((scale < 1).sum())
        weight.mul_(scale.to(weight))
    run.report(dampened_share=chosen / sum(weight.numel() for weight in weights.values()))
    return model


def factors(forget: Tensor, everyone: Tensor, params: Params) -> Tensor:
    """Return the factor by which each weight is multiplied.

    It is 1 unless the importance for D_f is above alpha times the importance for all examples.
    """
    damped = (params.dampening * everyone / forget).clamp(max=1)
    # The result of dividing by 0 is never used: weights with the importance 0 keep the factor 1.
    return torch.where(forget > params.alpha * everyone, damped, torch.ones_like(damped))


def importance(model: nn.Module, examples: Examples, params: Prepare) -> Tensor:
    """Return each weight's mean squared gradient; for `output_norm`, mean absolute gradient."""
    criterion = F.cross_entropy if params.loss == "cross_entropy" else output_norm
    if params.gradients == "example":
        rows = example_gradients(model, examples, criterion)
    else:
        batches = examples.in_order(params.batch_size)
        rows = (gradient[None] for gradient in batch_gradients(model, batches, criterion))
    total, count = torch.zeros(()), 0
    for some in rows:
        sizes = some.square() if params.loss == "cross_entropy" else some.abs()
        total, count = total.to(sizes) + sizes.sum(0), count + len(some)
    return total / count


def output_norm(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the squared norm of the logits, averaged over examples; labels are not used."""
    return logits.square().sum(1).mean()


def example_gradients(model: nn.Module, examples: Examples, criterion: Loss) -> Iterator[Tensor]:
    """Yield the gradients of chunks of examples, one row per example."""
    for places in torch.arange(len(examples)).split(CHUNK_SIZE):
        yield per_sample_gradients(model, examples.select(places), criterion=criterion)

"""Influence unlearning by the WoodFisher recursion over single examples with full gradients."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from plain.task import EVALUATION_BATCH, PlainTask
from plain.training import Batches


def gradient(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the gradient of a batch's mean loss as one vector."""
    loss = F.cross_entropy(model(x), y)
    parts = torch.autograd.grad(loss, list(model.parameters()))
    return torch.cat([part.flatten() for part in parts])


def summed_gradient(model: nn.Module, batches: Batches) -> Tensor:
    """Return the gradient of the summed loss."""
    return torch.stack([gradient(model, x, y) * len(y) for x, y in batches]).sum(0)


def recursion(model: nn.Module, ones: Batches, v: Tensor, samples: int) -> Tensor:
    """Return the result of the WoodFisher recursion for v; `ones` yields batches of one example."""
    k, o = v.clone(), None
    for i, (x, y) in enumerate(ones):
        g = gradient(model, x, y)
        if o is None:
            o = g
        else:
            t = torch.dot(o, g)
            k = k - torch.dot(k, g) / (samples + t) * o
            o = o - t / (samples + t) * o
        if i > samples:
            break
    return k


def direction(model: nn.Module, task: PlainTask, samples: int) -> Tensor:
    """Return the direction of the step."""
    model.eval()
    num_forget, num_retain = len(task.forget), len(task.retain)
    total = num_forget + num_retain
    of_forget = summed_gradient(model, task.training(task.forget, EVALUATION_BATCH))
    of_retain = summed_gradient(model, task.training(task.retain, EVALUATION_BATCH))
    v = of_forget / total - of_retain * num_forget / (total * num_retain)
    return recursion(model, task.training(task.retain, 1), v, samples)


@torch.no_grad()
def step(model: nn.Module, along: Tensor, alpha: float) -> nn.Module:
    """Add a multiple of the direction to the weights."""
    weights = list(model.parameters())
    pieces = along.split([weight.numel() for weight in weights])
    for weight, piece in zip(weights, pieces, strict=True):
        weight += alpha * piece.view(weight.shape)
    return model

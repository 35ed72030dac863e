"""MUNBa: each step is the bisector of what keeping and what forgetting ask for.

Public code weighs the losses by a closed form that is 0/0 where the gradients are perpendicular,
and adds 1e-8 to its denominators. With c the cosine of r and u, its weights without the 1e-8 are
1 / (|r| sqrt(1 + c)) and 1 / (|u| sqrt(1 + c)): so they are computed here. The 1e-8 counts wherever
the retain gradient is small, |r|^2 |u| sqrt(1 - c^2) not far above 1e-4: with |u| = 1, |r| = 0.004
and c = -0.2 public code falls back to 1 and 0.1, which is 49 degrees off the bisector. It also
fails where the forget set has more batches.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.protocols import Run, Task
from collateral.methods._shared.gradients import trainable
from collateral.methods._shared.steps import clip
from collateral.methods.munba.params import Params
from collateral.training.optimizers import Optimizer, descend, start_training

FALLBACK = 0.1  # public code: forgetting's weight where there is no bargain
OPPOSED = 1e-6  # 1 + c below which gradients have no bisector: float32 knows no more of it


def unlearn(model: nn.Module, task: Task, params: Params, run: Run) -> nn.Module:
    """Return `model`, updated in place."""
    optimizer = start_training(model, params)
    weights = list(trainable(model).values())
    size, generator, augment = params.batch_size, run.generator, params.augment
    for epoch in run.epochs(params.epochs, model, optimizer):
        forget = task.forget.batches(size, generator, augment=augment)
        for x, y in task.retain.batches(size, generator, augment=augment):
            keep = F.cross_entropy(model(x), y)
            if (pair := next(forget, None)) is None:
                descend(optimizer, keep)
            else:
                drop = forgetting_loss(model, *pair, params, run)
                bargain(weights, optimizer, (keep, drop), params.clip)
        run.log(epoch=epoch, keep=keep.item())
    return model


def forgetting_loss(model: nn.Module, x: Tensor, y: Tensor, params: Params, run: Run) -> Tensor:
    """Return what forgetting descends on."""
    logits = model(x)
    if params.forgetting == "ascent":
        return -F.cross_entropy(logits, y)
    drawn = torch.randint(logits.shape[1], (len(y),), generator=run.generator)
    return F.cross_entropy(logits, drawn.to(y.device))


def bargain(
    weights: Sequence[Tensor], optimizer: Optimizer, losses: tuple[Tensor, Tensor], most: float
) -> None:
    """Take the step, of at most `most`, that keeping and forgetting agree on."""
    optimizer.zero_grad(set_to_none=True)
    r, u = (torch.autograd.grad(loss, weights, materialize_grads=True) for loss in losses)
    a_r, a_u = shares(r, u)
    for weight, of_keep, of_forget in zip(weights, r, u, strict=True):
        # In the weight's own layout, as the fused optimisers take it.
        weight.grad = torch.empty_like(weight).copy_(a_r * of_keep + a_u * of_forget)
    clip([weight.grad for weight in weights if weight.grad is not None], most)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def shares(r: Sequence[Tensor], u: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the weights of both gradients; 1 and FALLBACK where they have no bisector."""
    rr, uu = (torch.stack([part.square().sum() for part in side]).sum() for side in (r, u))
    ru = torch.stack([(a * b).sum() for a, b in zip(r, u, strict=True)]).sum()
    lengths = rr.sqrt() * uu.sqrt()
    opening = 1 + ru / lengths  # NaN where one gradient is zero
    is_agreed = opening > OPPOSED
    a_r, a_u = (1 / (squares.sqrt() * opening.sqrt()) for squares in (rr, uu))
    one = torch.ones_like(a_r)
    return torch.where(is_agreed, a_r, one), torch.where(is_agreed, a_u, FALLBACK * one)

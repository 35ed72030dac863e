"""MUNBa: each step follows the bisector of the retain gradient r and the forget gradient u.

Public code weights the losses by a closed form that is 0/0 for perpendicular gradients, and adds
1e-8 to its denominators (`bargain: public`). Here the formula's weights, those without the 1e-8,
are used (`bargain: exact`). The 1e-8 matters if the retain gradient is small, as with a base model
that knows its train set: on digits the first step of public code is 4 to 47 degrees off the
bisector. Public code also fails if the forget set has more batches than the retained set.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from collateral.methods._shared.gradients import trainable
from collateral.methods._shared.training import clip
from collateral.methods.munba.params import Params
from collateral.training.examples import Task
from collateral.training.optimizers import descend, start_training
from collateral.training.run import Run

# Weight of the forget gradient u if there is no bisector; the retain gradient r then has 1.
FALLBACK = 0.1
# Minimum of 1 + cosine of the two gradients; below it, float32 cannot represent their bisector.
OPPOSED = 1e-6
ADDED = 1e-8  # what public code adds to both denominators, so that they are not 0


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
                step_by_bargain(weights, optimizer, (keep, drop), params)
        run.log(epoch=epoch, keep=keep.item())
    return model


def forgetting_loss(model: nn.Module, x: Tensor, y: Tensor, params: Params, run: Run) -> Tensor:
    """Return the cross-entropy with random labels or, for `ascent`, minus that with true labels."""
    logits = model(x)
    if params.forgetting == "ascent":
        return -F.cross_entropy(logits, y)
    drawn = torch.randint(logits.shape[1], (len(y),), generator=run.generator)
    return F.cross_entropy(logits, drawn.to(y.device))


def step_by_bargain(
    weights: Sequence[Tensor], optimizer: Optimizer, losses: tuple[Tensor, Tensor], params: Params
) -> None:
    """Take a step along the bisector of both losses' gradients, clipped to the norm `clip`."""
    optimizer.zero_grad(set_to_none=True)
    r, u = (torch.autograd.grad(loss, weights, materialize_grads=True) for loss in losses)
    a_r, a_u = bargaining_weights(r, u, params.bargain)
    for weight, r_part, u_part in zip(weights, r, u, strict=True):
        # Fused optimisers need gradients in the memory layout of the weights.
        weight.grad = torch.empty_like(weight).copy_(a_r * r_part + a_u * u_part)
    clip([weight.grad for weight in weights if weight.grad is not None], params.clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def bargaining_weights(
    r: Sequence[Tensor], u: Sequence[Tensor], form: str = "exact"
) -> tuple[Tensor, Tensor]:
    """Return the weights of the gradients r and u in a step; 1 and 0.1 if there is no bisector."""
    rr, uu = (torch.stack([part.square().sum() for part in side]).sum() for side in (r, u))
    ru = torch.stack([(a * b).sum() for a, b in zip(r, u, strict=True)]).sum()
    weigh = weigh_as_public_code if form == "public" else weigh_exactly
    a_r, a_u = weigh(rr, ru, uu)
    is_agreed = (a_r > 0) & (a_u > 0)  # false if one of them is NaN
    one = torch.ones_like(rr)
    return torch.where(is_agreed, a_r, one), torch.where(is_agreed, a_u, FALLBACK * one)


def weigh_exactly(rr: Tensor, ru: Tensor, uu: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weights of the bisector; NaN if there is none, or no float32 represents it."""
    lengths = rr.sqrt() * uu.sqrt()
    opening = 1 + ru / lengths  # 1 + cosine of the two gradients; NaN if one gradient is zero
    root = torch.where(opening > OPPOSED, opening, torch.nan).sqrt()
    return 1 / (rr.sqrt() * root), 1 / (uu.sqrt() * root)


def weigh_as_public_code(rr: Tensor, ru: Tensor, uu: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weights of public code, whose ADDED shortens both where the gradients are small.

    They are computed in double precision, because the closed form loses digits.
    """
    g1, g2, g3 = rr.double(), ru.double(), uu.double()
    above = g1 * g3 - g2 * (g1 * g3).sqrt()
    a_r = (above / (g1.square() * g3 - g1 * g2.square() + ADDED)).sqrt()
    a_u = (1 - g1 * a_r.square()) / (g2 * a_r + ADDED)
    return a_r.to(rr.dtype), a_u.to(rr.dtype)

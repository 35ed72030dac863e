"""Steps whose gradients are changed on the way."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from collateral.training.optimizers import Optimizer


def descend_changed(optimizer: Optimizer, loss: Tensor, change: Callable[[], None]) -> None:
    """Take one step down the loss; `change` may edit the gradients in place before it."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    change()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@torch.no_grad()
def clip(gradients: Sequence[Tensor], most: float) -> None:
    """Shorten gradients together, in place, to a norm of at most `most`."""
    length = torch.stack([gradient.norm() for gradient in gradients]).norm()
    factor = (most / length).clamp(max=1)
    for gradient in gradients:
        gradient.mul_(factor)

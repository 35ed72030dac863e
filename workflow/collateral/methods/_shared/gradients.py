"""The gradient of the cross-entropy of some examples by all trainable weights.

Clean images, eval mode: batch norm's statistics are constants, so that no example's gradient
depends on another. A gradient is flat, (P,), in the order of the model's parameters.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from collateral.contract.protocols import Examples
from collateral.models._evaluating import evaluating
from collateral.training.inference import BATCH_SIZE


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters that training may change, by name."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def by_parameter(model: nn.Module, vector: Tensor) -> dict[str, Tensor]:
    """Cut a flat vector into one tensor for each trainable parameter, of its shape."""
    weights = trainable(model)
    pieces = vector.split([weight.numel() for weight in weights.values()])
    # Copies, because safetensors refuses tensors that share their memory.
    return {
        name: piece.clone().view(weight.shape)
        for (name, weight), piece in zip(weights.items(), pieces, strict=True)
    }


def summed_gradient(model: nn.Module, examples: Examples, factors: Tensor | None = None) -> Tensor:
    """Return the gradient of the examples' losses, each times its factor (1), added up."""
    weights = list(trainable(model).values())
    total = weights[0].new_zeros(sum(weight.numel() for weight in weights))
    factors = total.new_ones(len(examples)) if factors is None else factors.to(total)
    with evaluating(model), torch.enable_grad():
        for (x, y), factor in zip(
            examples.in_order(BATCH_SIZE), factors.split(BATCH_SIZE), strict=True
        ):
            loss = factor @ F.cross_entropy(model(x), y, reduction="none")
            parts = torch.autograd.grad(loss, weights, materialize_grads=True)
            total += torch.cat([part.flatten() for part in parts])
    return total

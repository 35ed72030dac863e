"""Gradients of the cross-entropy by all trainable weights: of a sum of examples, and of each one.

Clean images, eval mode: batch norm's statistics are constants, so that no example's gradient
depends on another. A gradient is flat, (P,), in the order of the model's parameters.
"""

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from collateral.training.examples import Examples
from collateral.training.inference import BATCH_SIZE, evaluating

CHUNK_SIZE = 32  # benchmarks/bench_iu.py


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


def per_sample_gradients(
    model: nn.Module, examples: Examples, chunk_size: int = CHUNK_SIZE
) -> Tensor:
    """Return the gradient of every example's loss, (n, P), computed a chunk at a time."""
    # Contiguous: of channels_last weights, vmap's convolutions are a tenth slower.
    weights = {name: weight.detach().contiguous() for name, weight in trainable(model).items()}

    def loss(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(functional_call(model, weights, (x[None],)), y[None])

    gradients_of = vmap(grad(loss), in_dims=(None, 0, 0))
    num_weights = sum(weight.numel() for weight in weights.values())
    result = next(iter(weights.values())).new_empty(len(examples), num_weights)
    # The one form of attention that vmap can batch; the others run once for each example.
    with evaluating(model), sdpa_kernel(SDPBackend.MATH):
        for rows, (x, y) in zip(
            result.split(chunk_size), examples.in_order(chunk_size), strict=True
        ):
            parts = gradients_of(weights, x, y)
            torch.cat([parts[name].flatten(1) for name in weights], 1, out=rows)
    return result

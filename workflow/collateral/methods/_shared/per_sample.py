"""The gradient of every single example, as `gradients` has it of a sum: clean images, eval mode."""

from collections.abc import Callable
from importlib import import_module

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from collateral.contract.protocols import Examples, Run
from collateral.methods._shared.gradients import trainable
from collateral.models._evaluating import evaluating

CHUNK_SIZE = 32  # benchmarks/bench_iu.py

# From logits (b, C) and labels (b,) to the mean over the examples.
Loss = Callable[[Tensor, Tensor], Tensor]


def import_ahead(run: Run) -> None:
    """Import off the clock what torch.func does with its first gradient, for seconds."""
    with run.phase(None):
        import_module("torch._dynamo")


def per_sample_gradients(
    model: nn.Module,
    examples: Examples,
    chunk_size: int = CHUNK_SIZE,
    loss_of: Loss = F.cross_entropy,
) -> Tensor:
    """Return the gradient of every example's loss, (n, P), computed a chunk at a time."""
    # Contiguous: of channels_last weights, vmap's convolutions are a tenth slower.
    weights = {name: weight.detach().contiguous() for name, weight in trainable(model).items()}

    def loss(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return loss_of(functional_call(model, weights, (x[None],)), y[None])

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

"""Gradients of the cross-entropy with respect to all trainable weights, in total or per example.

Images are clean and the model is in eval mode: batch norm's statistics are constants, so that no
example's gradient depends on another example. A gradient is flat, (P,), in the order of the model's
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch

# The compiler is imported here (0.7 s), before any timing; torch.func would import it later.
import torch._dynamo  # noqa: F401
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from collateral.models._classifier import eval_mode
from collateral.training.examples import Batch, Examples
from collateral.training.inference import BATCH_SIZE

# Number of per-example gradients computed at once, chosen by benchmarks/bench_iu.py.
CHUNK_SIZE = 32

# A loss maps the logits and labels of several examples to their mean loss.
Loss = Callable[[Tensor, Tensor], Tensor]


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """Return the trainable parameters (those with `requires_grad`), by name."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def by_parameter(model: nn.Module, vector: Tensor) -> dict[str, Tensor]:
    """Split a flat vector into one tensor per trainable parameter, with the parameter's shape."""
    weights = trainable(model)
    pieces = vector.split([weight.numel() for weight in weights.values()])
    # The tensors are copied, because safetensors cannot store tensors that share memory.
    return {
        name: piece.clone().view(weight.shape)
        for (name, weight), piece in zip(weights.items(), pieces, strict=True)
    }


def flat_gradient(loss: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """Return the gradient of a loss as one vector over all weights."""
    parts = torch.autograd.grad(loss, weights, materialize_grads=True)
    return torch.cat([part.flatten() for part in parts])


def batch_gradients(
    model: nn.Module, batches: Iterable[Batch], criterion: Loss = F.cross_entropy
) -> Iterator[Tensor]:
    """Yield, for each batch, the gradient of the mean loss as one vector over all weights."""
    weights = list(trainable(model).values())
    for x, y in batches:
        with eval_mode(model), torch.enable_grad():
            yield flat_gradient(criterion(model(x), y), weights)


def summed_gradient(model: nn.Module, examples: Examples, factors: Tensor | None = None) -> Tensor:
    """Return the gradient of the losses summed over examples, each loss times its factor (or 1)."""
    weights = list(trainable(model).values())
    total = weights[0].new_zeros(sum(weight.numel() for weight in weights))
    factors = total.new_ones(len(examples)) if factors is None else factors.to(total)
    with eval_mode(model), torch.enable_grad():
        for (x, y), factor in zip(
            examples.in_order(BATCH_SIZE), factors.split(BATCH_SIZE), strict=True
        ):
            loss = factor @ F.cross_entropy(model(x), y, reduction="none")
            total += flat_gradient(loss, weights)
    return total


def per_sample_gradients(
    model: nn.Module,
    examples: Examples,
    chunk_size: int = CHUNK_SIZE,
    criterion: Loss = F.cross_entropy,
) -> Tensor:
    """Return the gradient of every example's loss, one row per example, computed in chunks."""
    # Weights are made contiguous: convolutions under vmap are a tenth slower in channels_last.
    weights = {name: weight.detach().contiguous() for name, weight in trainable(model).items()}

    def loss(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return criterion(functional_call(model, weights, (x[None],)), y[None])

    gradients_of = vmap(grad(loss), in_dims=(None, 0, 0))
    num_weights = sum(weight.numel() for weight in weights.values())
    result = next(iter(weights.values())).new_empty(len(examples), num_weights)
    # Vmap can batch only the attention backend MATH; other backends would run once per example.
    with eval_mode(model), sdpa_kernel(SDPBackend.MATH):
        for rows, (x, y) in zip(
            result.split(chunk_size), examples.in_order(chunk_size), strict=True
        ):
            parts = gradients_of(weights, x, y)
            torch.cat([parts[name].flatten(1) for name in weights], 1, out=rows)
    return result

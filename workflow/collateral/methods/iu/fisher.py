"""Solve F x = v for the Fisher matrix F = damping I + (1/N) sum of g g^T over N gradients g."""

import torch
from torch import Tensor, nn

from collateral.methods._shared.gradients import CHUNK_SIZE, per_sample_gradients, summed_gradient
from collateral.methods.iu.params import Prepare
from collateral.methods.iu.products import products, supports
from collateral.training.examples import Examples

# Largest size of the per-example gradients in memory; 1000 gradients of ResNet-56 take 3.4 GB.
MAX_BYTES = 2 * 2**30


def solve(model: nn.Module, examples: Examples, v: Tensor, damping: float) -> Tensor:
    """Return F^-1 v with F over all `examples`, by Woodbury's identity: one N x N system.

    F^-1 v = (v - G^T c) / damping and (N damping I + G G^T) c = G v, where the rows of G are the
    gradients. G^T c is the gradient of a weighted sum of losses: it needs no per-example gradients.
    """
    gram, along_v = gram_and_products(model, examples, v)
    # The small system is solved on the CPU, because not every device has float64.
    system = gram.cpu().double()
    system.diagonal().add_(len(examples) * damping)
    factors = torch.linalg.solve(system, along_v.cpu().double())
    return (v - summed_gradient(model, examples, factors)) / damping


def gram_and_products(
    model: nn.Module, examples: Examples, v: Tensor, max_bytes: int = MAX_BYTES
) -> tuple[Tensor, Tensor]:
    """Return G G^T, (N, N), and G v, (N,), with at most `max_bytes` of G in memory.

    A larger G is processed in blocks of rows; for each block, all later rows are recomputed.
    """
    count = len(examples)
    gram, products = v.new_empty(count, count), v.new_empty(count)
    rows_kept = max(1, max_bytes // (v.numel() * v.element_size()))
    for start in range(0, count, rows_kept):
        end = min(start + rows_kept, count)
        kept = per_sample_gradients(model, examples.select(torch.arange(start, end)))
        products[start:end] = kept @ v
        gram[start:end, start:end] = kept @ kept.T
        later = inner_products(model, examples.select(torch.arange(end, count)), kept)
        gram[end:, start:end] = later
        gram[start:end, end:] = later.T
    return gram, products


def inner_products(model: nn.Module, examples: Examples, directions: Tensor) -> Tensor:
    """Return the inner products (n, K) of every example's gradient with K directions (K, P)."""
    result = directions.new_empty(len(examples), len(directions))
    for start in range(0, len(examples), CHUNK_SIZE):
        chunk = torch.arange(start, min(start + CHUNK_SIZE, len(examples)))
        result[chunk] = per_sample_gradients(model, examples.select(chunk)) @ directions.T
    return result


def run_woodfisher(model: nn.Module, retain: Examples, v: Tensor, params: Prepare) -> Tensor:
    """Return the result of the public code's WoodFisher recursion for v.

    The recursion starts with k = v and with o = g_0, the gradient of the first example. It updates
    k -= <k, g> / (N + <o, g>) o;  o -= <o, g> / (N + <o, g>) o
    for the next N + 1 gradients g. Because o is never rebuilt from g, it stays o = s g_0, and so
    k = v / damping - c g_0: a rank-one correction that two scalars, s and c, determine.
    """
    first = summed_gradient(model, retain.select(torch.tensor([0])))
    following = torch.arange(1, min(params.samples + 2, len(retain)))
    directions = torch.stack([first, v / params.damping])
    multiply = products if supports(model) else inner_products
    s, c = 1 / params.damping, 0.0
    for along_first, along_v in multiply(model, retain.select(following), directions).tolist():
        denominator = params.samples + s * along_first
        c += s * (along_v - c * along_first) / denominator
        s *= params.samples / denominator
    return directions[1] - c * first

"""IU: a step along F^-1 v; F is the Fisher matrix, v the gradient on all data minus that on D_r.

Public code: `Wfisher` in OPTML-Group/Unlearn-Saliency (a6e89fd). Deviations: images are clean
unless `augment` is set, as in the paper's code; retained examples are in data-set order, while that
code puts those of the affected class last.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from collateral.methods._shared.gradients import (
    CHUNK_SIZE,
    by_parameter,
    per_sample_gradients,
    summed_gradient,
    trainable,
)
from collateral.methods.iu.params import Params, Prepare
from collateral.methods.iu.products import products, supports
from collateral.training.examples import Examples, Task, Tensors
from collateral.training.run import Run

# The paper's fraction n_f / n, 250 / 50,000; with this fraction, `relative` has no effect.
PAPER_SHARE = 0.005
# Maximum memory for per-example gradients, in bytes; 1000 gradients of ResNet-56 take 3.4 GB.
MAX_BYTES = 2 * 2**30

# Function that returns the given examples with clean or with augmented images.
View = Callable[[Examples], Examples]


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the direction of the step; it does not depend on alpha."""
    view = _augment(run) if params.augment else _keep_clean
    v = removal_gradient(model, task, view)
    if params.mode == "exact":
        drawn = torch.randperm(len(task.retain), generator=run.generator)[: params.samples]
        direction = solve(model, view(task.retain.select(drawn)), v, params.damping)
    else:
        first = torch.arange(min(params.samples + 2, len(task.retain)))
        direction = run_woodfisher(model, view(task.retain.select(first)), v, params)
    # How much the Fisher matrix changes the step, relative to a plain gradient step.
    plain = v / params.damping
    run.report(curvature_correction=((direction - plain).norm() / plain.norm()).item())
    return by_parameter(model, direction)


def _keep_clean(examples: Examples) -> Examples:
    return examples


def _augment(run: Run) -> View:
    """Return a function that augments each image once per call, with the run's generator."""
    return lambda examples: examples.viewed(run.generator)


def removal_gradient(model: nn.Module, task: Task, view: View = _keep_clean) -> Tensor:
    """Return v: mean gradient over all examples minus mean gradient over retained examples."""
    forget_gradient = summed_gradient(model, view(task.forget)) / len(task.forget)
    retain_gradient = summed_gradient(model, view(task.retain)) / len(task.retain)
    return forget_share(task) * (forget_gradient - retain_gradient)


def forget_share(task: Task) -> float:
    """Return n_f / n, the fraction of the train set that is forgotten."""
    return len(task.forget) / (len(task.forget) + len(task.retain))


@torch.no_grad()
def unlearn(model: nn.Module, task: Task, params: Params, run: Run, prepared: Tensors) -> nn.Module:
    """Return `model`, to whose weights a multiple of the direction from `prepare` was added."""
    # The direction is proportional to n_f / n, like v; `relative` replaces n_f / n by PAPER_SHARE.
    unit = PAPER_SHARE / forget_share(task) if params.relative else 1.0
    for name, weight in trainable(model).items():
        weight.add_(prepared[name].to(weight), alpha=params.alpha * unit)
    return model


def solve(model: nn.Module, examples: Examples, v: Tensor, damping: float) -> Tensor:
    """Return F^-1 v by Woodbury's identity: one N x N system for N examples.

    F = damping I + (1/N) sum of g g^T over the gradients g of all `examples`. F^-1 v = (v - G^T c)
    / damping and (N damping I + G G^T) c = G v, where the rows of G are the gradients. G^T c is the
    gradient of a weighted sum of losses: it needs no per-example gradients.
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
    """Return G G^T and G v, where the rows of G are the gradients of the examples.

    If G has more than `max_bytes`, it is processed in blocks of rows; for each block, all later
    rows are recomputed.
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
    """Return the inner product of every example's gradient with every row of `directions`."""
    result = directions.new_empty(len(examples), len(directions))
    for start in range(0, len(examples), CHUNK_SIZE):
        chunk = torch.arange(start, min(start + CHUNK_SIZE, len(examples)))
        result[chunk] = per_sample_gradients(model, examples.select(chunk)) @ directions.T
    return result


def run_woodfisher(model: nn.Module, retain: Examples, v: Tensor, params: Prepare) -> Tensor:
    """Return the direction that the public code's WoodFisher recursion computes from v.

    The recursion starts with k = v and with o = g_0, the gradient of the first example. It updates
    k -= <k, g> / (N + <o, g>) o; o -= <o, g> / (N + <o, g>) o for the next N + 1 gradients g.
    Because o is never rebuilt from g, it stays o = s g_0, and so k = v / damping - c g_0: a
    rank-one correction that two scalars, s and c, determine.
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

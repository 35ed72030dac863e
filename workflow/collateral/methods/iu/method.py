"""IU: one step along the inverse Fisher matrix times the gradient that D_f's removal leaves.

v = (n_f / n) (mean gradient of D_f - mean gradient of D_r): up on the forget set, down on the
retained one. Public code: `Wfisher` in OPTML-Group/Unlearn-Saliency (a6e89fd). Deviations: images
are clean unless `augment` asks for views, as the code of the paper takes them, and the retained
examples are in data-set order, where that code puts those of the affected class last.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from collateral.methods._shared.gradients import by_parameter, summed_gradient, trainable
from collateral.methods.iu.fisher import corrected_by_first, solved
from collateral.methods.iu.params import Params, Prepare
from collateral.training.examples import Examples, Task
from collateral.training.run import Run

# n_f / n where half of couch is forgotten in the paper, 250 of 50,000: the unit of `relative`.
PAPER_SHARE = 0.005

Seen = Callable[[Examples], Examples]  # from examples to these as a gradient takes them


def prepare(model: nn.Module, task: Task, params: Prepare, run: Run) -> dict[str, Tensor]:
    """Return the direction of the step, which every alpha shares."""
    seen = _in_views(run) if params.augment else _as_they_are
    v = removal_gradient(model, task, seen)
    if params.mode == "exact":
        drawn = torch.randperm(len(task.retain), generator=run.generator)[: params.samples]
        direction = solved(model, seen(task.retain.select(drawn)), v, params.damping)
    else:
        first = torch.arange(min(params.samples + 2, len(task.retain)))
        direction = corrected_by_first(model, seen(task.retain.select(first)), v, params)
    # How far F is from lambda I along v: 0 means one plain gradient step.
    plain = v / params.damping
    run.report(curvature_correction=((direction - plain).norm() / plain.norm()).item())
    return by_parameter(model, direction)


def _as_they_are(examples: Examples) -> Examples:
    return examples


def _in_views(run: Run) -> Seen:
    """Return what draws a view of each example, anew for each pass, as public loaders do."""
    return lambda examples: examples.viewed(run.generator)


def removal_gradient(model: nn.Module, task: Task, seen: Seen = _as_they_are) -> Tensor:
    """Return v, by one pass over all examples."""
    of_forget = summed_gradient(model, seen(task.forget)) / len(task.forget)
    of_retain = summed_gradient(model, seen(task.retain)) / len(task.retain)
    return forget_share(task) * (of_forget - of_retain)


def forget_share(task: Task) -> float:
    """Return n_f / n."""
    return len(task.forget) / (len(task.forget) + len(task.retain))


@torch.no_grad()
def unlearn(
    model: nn.Module, task: Task, params: Params, run: Run, prepared: Mapping[str, Tensor]
) -> nn.Module:
    """Return `model`, updated in place; no example is read."""
    # The direction is linear in v, so that its n_f / n can be divided out here.
    unit = PAPER_SHARE / forget_share(task) if params.relative else 1.0
    for name, weight in trainable(model).items():
        weight.add_(prepared[name].to(weight), alpha=params.alpha * unit)
    return model
